"""Kernels with what they have to compute; every one runs on every kind of device."""
