"""What generated controllers are built on: ports, wake-ups, traces."""
