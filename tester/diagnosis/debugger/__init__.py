"""Stopping a run before a transition, in the generated controller."""
