"""What a run costs: messages, hits and misses, latencies and occupancy, counted on both engines."""
