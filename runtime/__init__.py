"""What compiled controllers stand on: time, buffers, network, storage, requesters."""
