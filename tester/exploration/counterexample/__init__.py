"""Counterexamples of an exploration as legs: programs with delays that a timed engine follows."""
