"""``python -m tester.cli``."""

from tester.cli.main import main

main()
