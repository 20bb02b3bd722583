"""A resident wave, its work-group, its decoded code, and how it fails."""
