"""The GCN3 instruction set: encodings, opcodes and their meaning on one wavefront's registers."""
