"""A run: numbered legs, workers, engines, coverage."""
