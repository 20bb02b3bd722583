"""The command ``gpu-tester``."""
