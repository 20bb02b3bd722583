"""What a controller owns: caches, TBE tables, directories, memory."""
