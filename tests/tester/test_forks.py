"""Forked processes: a signal that comes while one is started is not lost."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, signal
from slicc.text.command.exit_status import heed_endings
from tester import forks

heed_endings()
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGTERM))
forks.start(lambda connection: connection.recv(), [])
print("lost")
"""


def test_a_signal_during_a_fork_ends_the_command() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (143, ""), done.stderr
