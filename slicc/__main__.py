"""``python -m slicc``."""

from slicc.cli.main import main

main()
