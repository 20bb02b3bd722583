"""Coverage in words: a line a machine, and what was never hit with what is known of it.

Invariant: every cell that no campaign hit is in the list of what is missing, once.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc.coverage.cells import Cell, Cells, Status
from slicc.text.data import json_text
from slicc.text.wording import first_few

SCHEMA = "gpu-tester.cells/1"
_SHOWN = 6
MEANINGS = {
    Status.HIT: "hit",
    Status.REACHABLE: "reachable, not hit",
    Status.UNSENT: "never caused",
    Status.NOT_REACHED: "not reached",
    Status.UNKNOWN: "not hit",
}


def summary(cells: Cells) -> Iterator[str]:
    """A line for each machine."""
    width = max(map(len, cells.machines), default=0)
    for name, machine in cells.machines.items():
        parts = [
            f"{len(found)} {MEANINGS[status]}"
            for status, found in cells.by_status(name).items()
            if found
        ]
        yield f"{name:<{width}}  {len(machine.counts):>4} cells: {', '.join(parts)}"


def systems(cells: Cells) -> Iterator[str]:
    """The systems that were exhausted."""
    for number, system in enumerate(cells.exhausted, 1):
        yield f"exhausted system {number}: {system.what}"


def missing(cells: Cells) -> Iterator[str]:
    """Every cell that was not hit, with what is known of it; the shortest way to those that can
    be reached."""
    for name, machine in cells.machines.items():
        for status, found in cells.by_status(name).items():
            for cell in found if status is not Status.HIT else ():
                yield f"{name} ({cell[0]}, {cell[1]}): {cells.note(name, cell)}"
                yield from (f"    {step}" for step in machine.ways.get(cell, ()))


def never_hit(cells: Cells) -> Iterator[str]:
    """What a campaign has not hit, in a line or two for each machine that has such cells."""
    for name in cells.machines:
        for status, found in cells.by_status(name).items():
            if found and status is not Status.HIT:
                yield f"{name}: {len(found)} {MEANINGS[status]}: {_some(found)}"


def _some(found: list[Cell]) -> str:
    return first_few([f"({state}, {event})" for state, event in found], _SHOWN)


def as_json(cells: Cells) -> str:
    """What is known of every cell."""
    table = {
        name: [
            {
                "state": cell[0],
                "event": cell[1],
                "status": cells.status(name, cell).value,
                "hits": machine.counts[cell],
                "way": list(machine.ways[cell]) if cell in machine.ways else None,
            }
            for cell in machine.in_order()
        ]
        for name, machine in cells.machines.items()
    }
    return json_text(
        {
            "schema": SCHEMA,
            "protocol": cells.protocol,
            "digest": cells.digest,
            "exhausted": [system.what for system in cells.exhausted],
            "machines": table,
        },
        indent=1,
    )
