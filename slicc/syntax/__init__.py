"""The syntax tree and its printer."""
