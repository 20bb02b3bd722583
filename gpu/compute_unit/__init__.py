"""Compute units: work-groups as wavefronts, run with a clock or without one, on any memory."""
