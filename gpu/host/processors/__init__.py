"""Programs of the processor beside the GPU."""
