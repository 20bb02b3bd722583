"""Address spaces of processes: page tables in memory, and what is kept of them."""
