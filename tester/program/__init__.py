"""A test as a value: arrays, expectations, verification, replay files."""
