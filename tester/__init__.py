"""Data-race-free random programs, the engine that issues them and the checker that judges."""
