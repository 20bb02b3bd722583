"""System descriptions for kernels, by the names of the shipped protocols."""

from pathlib import Path

DIRECTORY = Path(__file__).parent
