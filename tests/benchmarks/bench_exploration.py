"""Every interleaving of MSI, explored here and by Rumur, one after the other.

Run by hand, with ``rumur`` (a Debian package) and gcc::

    python -m tests.benchmarks.bench_exploration [--repeat N]

Rumur checks ``msi.m``, which has the same tables with the same two caches and two lines; its
channels are slots and its values two, so that its states are not the same ones. Both work on one
core and take equal caches and lines for each other; two lines are printed for each round: states
and steps (rules fired) a second of processor time, the start of the command and compilers not
counted.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MODEL: Final = Path(__file__).with_name("msi.m")
_EXPLORE: Final = (
    *(sys.executable, "-m", "tester.cli", "explore", "--no-progress", "--format", "json"),
    *("--protocol", "MSI", "--caches", "2", "--locations", "1"),
)
_FLAGS: Final = ("-std=c11", "-O3", "-march=native")
_EXPLORED: Final = re.compile(r"([\d,]+) states, ([\d,]+) rules fired")


@dataclass(frozen=True)
class Explored:
    states: int
    steps: int
    seconds: float

    def __str__(self) -> str:
        rates = (f"{n / self.seconds / 1e6:.2f} M" for n in (self.states, self.steps))
        return f"{self.states:,} states, {self.steps:,} steps: {' and '.join(rates)} a second"


class Failed(RuntimeError):
    """A command did not do its work."""


def checker(model: Path, directory: Path) -> Path:
    """Rumur's program for a model. Raises Failed."""
    source, program = directory / "msi.c", directory / "msi"
    _seconds(["rumur", "--threads", "1", "--output", str(source), str(model)])
    libraries = ("-lpthread", "-latomic")
    _seconds(["gcc", *_FLAGS, "-o", str(program), str(source), *libraries])
    return program


def checked(program: Path) -> Explored:
    """What Rumur's program says. Raises Failed if it found an error."""
    seconds, text = _seconds([str(program)])
    found = _EXPLORED.search(text)
    if found is None or "No error found" not in text:
        raise Failed(text)
    states, steps = (int(each.replace(",", "")) for each in found.groups())
    return Explored(states, steps, seconds)


def explored() -> Explored:
    """The same of ``gpu-tester explore``, less the time of a system with one line."""
    start, _ = _seconds([*_EXPLORE, "--lines", "1"])
    seconds, text = _seconds([*_EXPLORE, "--lines", "2"])
    result = json.loads(text)
    if result["verdict"] != "exhausted":
        raise Failed(text)
    return Explored(result["states"], result["steps"], seconds - start)


def _seconds(command: Sequence[str]) -> tuple[float, str]:
    """Processor time of a command, and what it printed. Raises Failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        raise Failed(f"{command[0]} ended with {run.returncode}: {run.stdout}{run.stderr}")
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used, run.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    rounds = parser.parse_args().repeat
    for needed in ("rumur", "gcc"):
        if shutil.which(needed) is None:
            raise SystemExit(f"{needed} is not installed")
    with tempfile.TemporaryDirectory() as place:
        program = checker(MODEL, Path(place))
        explored()  # the object is compiled now
        for _ in range(rounds):
            print(f"explore  {explored()}")
            print(f"rumur    {checked(program)}")


if __name__ == "__main__":
    main()
