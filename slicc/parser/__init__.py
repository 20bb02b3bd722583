"""Text to syntax tree, and what is wrong with the text."""
