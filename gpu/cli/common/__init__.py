"""Files and sizes as command lines name them."""
