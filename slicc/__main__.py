"""``python -m slicc``."""

from slicc.cli import main

main()
