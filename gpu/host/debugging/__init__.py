"""Debuggers and trap handlers of kernels (D1, "Trap Handler ABI")."""
