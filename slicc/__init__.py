"""A compiler for SLICC protocols: ``.sm`` text to typed IR to controllers, graphs and tables."""
