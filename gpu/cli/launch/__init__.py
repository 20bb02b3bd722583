"""``gcn launch``: programs of several kernels and iterations, from a file."""
