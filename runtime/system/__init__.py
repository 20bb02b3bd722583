"""A built system, and looking into it."""
