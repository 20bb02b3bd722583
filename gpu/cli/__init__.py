"""The command ``gcn``."""

from gpu.cli.main import main

__all__ = ["main"]
