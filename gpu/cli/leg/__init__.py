"""Legs of `gpu-tester` as code of compute units: the one part of `gpu` that knows the tester."""
