"""The packet processor: which packets are taken out of queues, when, and what completes them."""
