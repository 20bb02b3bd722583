"""Pictures and tables of a protocol's machines."""
