"""Words to instructions, and back to text."""
