"""What memory instructions do."""
