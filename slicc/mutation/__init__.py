"""Mistakes that a protocol's author might have made, one at a time, as values."""
