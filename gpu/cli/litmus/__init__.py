"""Kernels that test a memory model: the verb, and its report."""
