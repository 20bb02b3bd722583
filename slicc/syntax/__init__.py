"""The syntax tree."""
