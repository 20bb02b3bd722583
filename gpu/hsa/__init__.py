"""What the HSA specification lays down: signals, queues and packets in memory, and their rules."""
