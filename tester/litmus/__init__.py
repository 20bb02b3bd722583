"""Scenarios on a protocol: single runs, many runs, and the outcomes that a memory model allows."""
