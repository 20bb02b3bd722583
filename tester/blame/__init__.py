"""Which transitions are to blame for a shrunk leg, by comparison with legs next to it."""
