"""OpenCL C to code objects: the compiler, device libraries, and headers in their place."""
