"""Litmus tests of the memory model: code sequences, kernels made of them, runs and outcomes."""
