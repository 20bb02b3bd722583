"""What is probably wrong with a protocol as a protocol, found before it runs."""
