"""Programs and legs on the native engine: what Python prepares, and what its C++ does."""
