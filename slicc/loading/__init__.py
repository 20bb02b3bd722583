"""Files on disk: drivers, includes, limits."""
