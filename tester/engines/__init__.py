"""Which engine runs legs: controllers in Python, or compiled to native code."""
