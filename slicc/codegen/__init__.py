"""Backends: each is a prepared view of the IR plus templates."""
