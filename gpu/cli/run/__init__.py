"""``gcn run`` and ``gcn replay``."""
