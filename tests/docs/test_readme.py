"""README.md: its console lines work in an empty directory, and its links lead somewhere.

`tests/install/test_distributions.py` runs the same lines with the installed packages.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs.readme import ROOT, console_lines, run_line
from tests.slicc.cli.test_cli import slicc

LINES: Final = console_lines()
PROGRAMS: Final = {
    "slicc": (sys.executable, "-m", "slicc"),
    "gpu-tester": (sys.executable, "-m", "tester.cli"),
    "gcn": (sys.executable, "-m", "gpu.cli"),
}
FEW: Final = ("--episodes", "2", "--engine", "python", "--jobs", "1")
"""Given last: enough to see that a run begins and ends."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_commands_are_all_there() -> None:
    assert {line.split()[0] for line in LINES} == set(PROGRAMS)
    assert len(LINES) == 12


@pytest.mark.slow
def test_every_line_as_it_is_printed(tmp_path: Path) -> None:
    for line in LINES:
        run_line(line, tmp_path, PROGRAMS, environment())


def test_the_lines_about_a_new_protocol_in_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in LINES:
        program, *arguments = shlex.split(line)
        if program == "slicc":
            done = slicc(*arguments)
            assert done.returncode == 0, done.stderr
        elif "Mine" in line:
            run_line(line, tmp_path, PROGRAMS, environment(), FEW)


def test_the_example_of_gcn(tmp_path: Path) -> None:
    (line,) = [line for line in LINES if line.startswith("gcn")]
    more = ("--functional", "--expect", "1=iota")
    run_line(line, tmp_path, PROGRAMS, environment(), more)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", (ROOT / page).read_text())
    assert links and [link for link in links if not (ROOT / link).exists()] == []
