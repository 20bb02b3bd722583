"""What a terminal shows while a kernel runs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import stored_bytes

VADD = ("vadd", "--functional", "--grid", "64", "--arg", "f32[64]=iota", "--arg", "f32[64]=iota",
        "--arg", "out:f32[64]", "--arg", "u32=64")  # fmt: skip


def test_progress_is_for_terminals_and_leaves_results_alone(tmp_path: Path) -> None:
    path = tmp_path / "vadd.co"
    path.write_bytes(stored_bytes("vadd"))
    elsewhere = gcn("run", str(path), *VADD)
    assert (elsewhere.status, elsewhere.err) == (0, "")
    ours, theirs = pty.openpty()
    there = subprocess.run(
        [sys.executable, "-m", "gpu.cli", "run", str(path), *VADD],
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=120,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = os.read(ours, 4096)
    os.close(ours)
    assert (there.returncode, there.stdout) == (0, elsewhere.out.encode())
    assert b"wave instructions" in shown
    assert shown.endswith(b"\x1b[2K")  # the line is erased
