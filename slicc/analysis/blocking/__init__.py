"""Ports that may wait for each other: stalled heads, and messages for which there is no room."""
