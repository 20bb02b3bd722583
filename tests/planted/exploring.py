"""``python -m tests.planted.exploring [BUG ...]``: what exploration makes of planted bugs.

Each is looked for in small systems, one after the other, up to so many states of each; a row says
in which it is found, in how many steps, and after how many seconds of processor time, compiling
left out. Invariant: which systems are tried depends on what the protocol's system has, not on the
bug.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from protocols.loader import LoadedProtocol, load_protocol
from tester.errors import ConfigError
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.native_search import Rules, build
from tester.exploration.small_system import Bounds
from tester.profiles.machine_roles import find_roles
from tests.planted.bug import Bug
from tests.planted.bugs import BUGS

PROTOCOLS: Final = ("MI", "MSI", "MESI_Two_Level", "GPU_VIPER")
RULES: Final = Rules(most_states=700_000, bound=1 << 16)
_ATOMICS: Final = ("load", "store", "atomic", "atomic.slc")
_SCOPES: Final = ("load", "store", "atomic", "acquire", "load.glc", "load.slc", "store.slc")
_Set = tuple[tuple[str, object], ...]
_WRITE_BACK: Final[_Set] = (("machine.TCC.parameters.WB", True),)
_LINKED: Final[_Set] = (("requester.cpu.atomics", "linked"),)
_IN_L3: Final[_Set] = (("machine.Directory.parameters.useL3OnWT", True),)
_ONE_RECORD: Final[_Set] = (("machine.Directory.parameters.number_of_TBEs", 1),)
_NOTHING: Final[_Set] = ()
_BYPASS: Final = ("load", "store", "acquire", "load.slc", "store.slc")
_EVICTING: Final = Bounds(locations=1, lines=2, caches=1, operations=_BYPASS)
_GPU_WAYS: Final = {
    "": Bounds(locations=1),
    ", scopes": Bounds(locations=1, operations=_SCOPES),
    ", two locations": Bounds(),
    ", two lines": Bounds(locations=1, lines=2),
    ", two agents on a port": Bounds(locations=1, agents=2),
    ", an engine": Bounds(locations=1, engines=True),
    ", atomics of the system": Bounds(locations=1, operations=_ATOMICS),
    ", atomics of one cache": Bounds(locations=1, caches=1, agents=2, operations=_ATOMICS),
    ", an engine and two lines": Bounds(locations=1, lines=2, engines=True, caches=1),
    ", bypassing and two lines": _EVICTING,
    ", the same kept in the L3": replace(_EVICTING, assignments=_IN_L3),
    ", an engine, two lines and one record": Bounds(
        locations=1, lines=2, engines=True, caches=1, assignments=_ONE_RECORD
    ),
}


@dataclass(frozen=True)
class Row:
    """``way``: the system that shows the bug; empty: none of those that were tried does."""

    bug: str
    way: str
    steps: int
    seconds: float
    refused: int

    def __str__(self) -> str:
        where = f"{self.way} | {self.steps}" if self.way else "not found | "
        return f"| {self.bug} | {where} | {self.seconds:.1f} |"


def ways(protocol: LoadedProtocol) -> Iterator[tuple[str, Bounds]]:
    """Small systems, the least first."""
    roles = find_roles(protocol.info, protocol.description)
    small = Bounds(locations=1)
    if "TCC" not in protocol.description.machines:
        yield "two locations", Bounds()
        yield "two lines", replace(small, lines=2)
        yield "three caches", replace(small, caches=3)
        for name, assignments in (("reservations", _LINKED), ("atomics", _NOTHING)):
            operations = ("load", "store", "atomic")
            yield name, replace(small, operations=operations, assignments=assignments)
        if roles.dmas:
            yield "an engine", Bounds(engines=True)
            yield "an engine, one location", replace(small, engines=True)
        return
    for name, more in _GPU_WAYS.items():
        for mode, assignments in (("write-through", _NOTHING), ("write-back", _WRITE_BACK)):
            yield f"{mode}{name}", replace(more, assignments=(*more.assignments, *assignments))


def row_of(bug: Bug, directory: Path) -> Row:
    """Plant the bug, compile, and explore until it is found."""
    planted = load_protocol(str(bug.plant(directory)), native=True)
    build(planted)
    started, refused = time.process_time(), 0
    for name, bounds in ways(planted):
        try:
            found = explore(planted, bounds, RULES)
        except ConfigError:
            refused += 1
            continue
        if found.conclusion is Conclusion.FOUND and found.finding is not None:
            steps = len(found.finding.trace)
            return Row(bug.name, name, steps, time.process_time() - started, refused)
    return Row(bug.name, "", 0, time.process_time() - started, refused)


def summary(protocol: str, rows: list[Row]) -> str:
    """How many of a protocol's bugs were found, and how fast."""
    found = [row for row in rows if row.way]
    if not found:
        return f"{protocol}: 0 of {len(rows)}"
    seconds = [row.seconds for row in found]
    return (
        f"{protocol}: {len(found)} of {len(rows)} ({len(found) / len(rows):.0%}), steps median "
        f"{median(row.steps for row in found):g}, seconds median {median(seconds):.1f}, "
        f"most {max(seconds):.1f}"
    )


def main(wanted: list[str], part: int, parts: int) -> None:
    bugs = [bug for bug in BUGS if bug.protocol in PROTOCOLS]
    bugs = [bug for bug in bugs if not wanted or bug.name in wanted or bug.protocol in wanted]
    rows: dict[str, list[Row]] = {}
    for bug in bugs[part::parts]:
        with tempfile.TemporaryDirectory() as name:
            row = row_of(bug, Path(name))
        rows.setdefault(bug.protocol, []).append(row)
        print(row, flush=True)
    for protocol, found in rows.items():
        print(summary(protocol, found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", help="names of bugs or protocols; all if none is given")
    parser.add_argument("--part", default="0/1", help="K/N: every N-th bug from the K-th")
    given = parser.parse_args()
    main(given.bugs, *map(int, given.part.split("/")))
