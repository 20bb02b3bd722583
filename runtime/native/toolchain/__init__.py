"""Finding a compiler, building objects, keeping them."""
