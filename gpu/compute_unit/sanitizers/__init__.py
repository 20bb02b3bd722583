"""Checks of what kernels do: missing waits, uninitialised reads, races. Off unless asked for."""
