"""``gcn info``, ``disasm`` and ``occupancy``."""
