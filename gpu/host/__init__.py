"""What a host program holds: devices, buffers, queues, printf."""
