"""Which system to build and how to load it."""
