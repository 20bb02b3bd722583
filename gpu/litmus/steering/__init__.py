"""Steered runs: what the caches can do with a test, and situations in which they do it."""
