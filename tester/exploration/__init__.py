"""Exploration: every order of messages and accesses of a small system, natively."""
