"""Calling ``gcn`` as a user does: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple


class Answer(NamedTuple):
    """Exit status, standard output, standard error."""

    status: int
    out: str
    err: str


def gcn(*words: str) -> Answer:
    """One call, which may take two minutes."""
    done = subprocess.run(
        [sys.executable, "-m", "gpu.cli", *words], capture_output=True, text=True, timeout=120
    )
    return Answer(done.returncode, done.stdout, done.stderr)
