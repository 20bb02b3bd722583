"""Agents that issue a program, and a leg on either engine."""
