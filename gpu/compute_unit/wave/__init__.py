"""A resident wave and its work-group: registers, LDS, and their bytes lane by lane."""
