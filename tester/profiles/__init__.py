"""Profiles: ways to attack. A draw from one says which system to build and how to load it."""
