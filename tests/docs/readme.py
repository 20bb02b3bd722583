"""The console lines of README.md, and running them in a directory."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def console_lines() -> list[str]:
    """Every line that README.md shows behind a prompt."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [line[2:] for block in _BLOCK.findall(text) for line in block.splitlines()]


def run_line(
    line: str,
    directory: Path,
    programs: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    more: Sequence[str] = (),
) -> None:
    """Run a line; it must succeed. ``programs``: what its first word stands for."""
    program, *arguments = shlex.split(line)
    done = subprocess.run(
        [*programs[program], *arguments, *more],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
