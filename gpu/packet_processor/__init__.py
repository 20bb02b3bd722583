"""Which packets are taken out of queues, and when."""
