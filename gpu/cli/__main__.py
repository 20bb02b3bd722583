"""``python -m gpu.cli`` is ``gcn``."""

from gpu.cli.main import main

main()
