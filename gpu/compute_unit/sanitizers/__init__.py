"""Checks of what kernels do: missing waits, uninitialised reads, races. Off by default."""
