"""Calling ``gcn`` as a user does: in a process of its own."""

from __future__ import annotations

import gpu.cli.run.session  # imported once for all calls
from gpu.cli.main import main
from tests.processes import Answer, call_command

assert gpu.cli.run.session


def gcn(*words: str) -> Answer:
    """One call, which may take two minutes."""
    return call_command(main, *words)
