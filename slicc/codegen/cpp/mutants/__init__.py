"""A protocol and its mutants as one unit of C++, with a switch."""
