"""Text to syntax tree, and diagnostics of syntax errors."""
