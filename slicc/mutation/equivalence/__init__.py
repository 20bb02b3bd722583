"""Which mutants no run can tell from the original, by what the text says."""
