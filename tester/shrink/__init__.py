"""Brings a failing leg down to the few operations that matter, in the smallest system."""
