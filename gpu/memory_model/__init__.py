"""What the scoped memory model of HSA and OpenCL lets a small program end with."""
