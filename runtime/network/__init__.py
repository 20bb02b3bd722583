"""Who is in a system, and how messages travel."""
