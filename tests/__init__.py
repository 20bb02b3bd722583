"""Tests, by area. ``pytest --update`` rewrites the golden files; review the difference."""
