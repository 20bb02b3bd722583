"""GCN compute-unit models that drive the same ports as the tester."""
