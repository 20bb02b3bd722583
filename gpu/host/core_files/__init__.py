"""Core files of D1: the state of a device after a fault, as an ELF file, written and read."""
