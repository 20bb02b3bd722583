"""Floating point."""
