"""Random data-race-free programs."""
