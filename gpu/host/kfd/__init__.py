"""The Linux driver: its calls, also as bytes, and what they refuse."""
