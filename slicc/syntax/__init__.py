"""What an author wrote: the syntax tree and its printer."""
