"""Tests of what the generator adds for exploration."""
