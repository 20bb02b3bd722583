"""The meanings of `gpu.isa.semantics` as native code."""
