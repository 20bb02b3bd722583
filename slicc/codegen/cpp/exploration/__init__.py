"""What exhaustive exploration adds to a protocol as C++: states as codes."""
