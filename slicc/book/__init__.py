"""State graphs, transition tables, and the book: pages that link both with messages and sources."""
