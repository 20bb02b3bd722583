"""From an edit to a verdict: commands as users call them, over the time of importing numpy.

Run by hand, on a quiet machine::

    python -m tests.benchmarks.bench_latency [--protocol NAME ...] [--repeat N]

For each protocol: ``gpu-tester -p FILE --episodes 20`` until the first leg's result is printed,
after an edit of one transition (``edit``), and the whole command with everything as it was, objects
included (``unchanged``); ``slicc check FILE`` after an edit of one file (``check``). Every text is
new to the caches, which are this benchmark's own. Each round also imports numpy in a process;
printed are the least seconds of all rounds, and the median of their ratios to numpy's of the same
round, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from protocols import shipped

_EDITED: Final = {
    "GPU_VIPER": ("GPU_VIPER-TCP.sm", "  transition(V, Load) {"),
    "MESI_Two_Level": ("MESI_Two_Level-L1cache.sm", "  transition("),
    "MI": ("MI-cache.sm", "  transition(M, Store) {"),
    "MSI": ("MSI-cache.sm", "  transition("),
}
"""By protocol, the file that is edited, and what its edited transition begins with."""
_WARM_EPISODES: Final = 60_000
"""Enough for the optimised object to come."""


class Place:
    """A copy of the protocols, with caches of its own."""

    def __init__(self, root: Path) -> None:
        self._protocols = root / "protocols"
        shutil.copytree(next(iter(shipped().values())).parent, self._protocols)
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(root / "cache")}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._edits = 0

    def driver(self, name: str) -> str:
        """The file of a protocol."""
        return str(self._protocols / f"{name}.slicc")

    def edit(self, name: str) -> None:
        """Change the first transition that begins so; each text is new."""
        self._edits += 1
        file, head = _EDITED[name]
        path = self._protocols / file
        before, found, after = path.read_text(encoding="utf-8").partition(head)
        assert found, f"{file} has no {head}"
        line, _, rest = after.partition("\n")
        note = f"    // edit {self._edits}"
        path.write_text(f"{before}{head}{line}\n{note}\n{rest}", encoding="utf-8")

    def seconds(self, command: Sequence[str], until: str = "") -> float:
        """Of a command, up to the line that has ``until`` in it; it is let end."""
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        end = begin
        for line in process.stdout:
            if until.encode() in line and end == begin:
                end = time.perf_counter()
        if process.wait():
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        assert not until or end > begin, f"no line with {until!r}"
        return (end if until else time.perf_counter()) - begin


def rounds(place: Place, name: str, repeat: int) -> Mapping[str, list[tuple[float, float]]]:
    """By what was measured: its seconds and those of numpy's import, round by round."""
    commands = Path(sys.executable).parent
    tester = [str(commands / "gpu-tester"), "-p", place.driver(name), "--seed", "1"]
    check = [str(commands / "slicc"), "check", place.driver(name)]
    numpy = [sys.executable, "-c", "import numpy"]
    short = [*tester, "--episodes", "20"]
    found: dict[str, list[tuple[float, float]]] = {"edit": [], "unchanged": [], "check": []}
    place.seconds(check)
    for _ in range(repeat):
        yardstick = place.seconds(numpy)
        place.edit(name)
        found["edit"].append((place.seconds(short, "leg   0"), yardstick))
        place.seconds([*tester, "--episodes", str(_WARM_EPISODES)])
        found["unchanged"].append((place.seconds(short), yardstick))
        place.edit(name)
        found["check"].append((place.seconds(check), yardstick))
    return found


def main() -> None:
    """Print a line for each protocol and measurement."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--protocol", nargs="+", action="extend", choices=_EDITED)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        for name in given.protocol or ("MI", "GPU_VIPER"):
            for what, measured in rounds(place, name, given.repeat).items():
                least = min(seconds for seconds, _ in measured)
                ratio = median(seconds / yardstick for seconds, yardstick in measured)
                print(f"{name:16} {what:10} {least:6.2f} s  {ratio:5.1f} x numpy", flush=True)


if __name__ == "__main__":
    main()
