"""The calls of the HSA core runtime (D2, draft 0.170), each with its status code."""
