"""Memory behind the caches of a protocol."""
