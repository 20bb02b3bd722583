"""An instruction bound to its operands."""
