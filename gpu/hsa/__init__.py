"""From a user queue to work-groups: signals, packets, the packet processor, the dispatcher."""
