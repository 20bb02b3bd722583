"""Machine code as bound instructions, what their execution counts, and how it fails."""
