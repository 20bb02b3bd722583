"""Values of the language."""
