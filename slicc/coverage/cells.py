"""What is known of the transitions of a protocol, cell by cell, and how it is put together.

A cell is a state and an event of a machine for which the protocol defines a transition that does
more than stall. Invariant: what is merged knows no more than its parts: counts are added, the
shortest way is kept, and a cell is unsent only where it is in every part that has its machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum

from slicc.text.lazy_dataclass import dataclass

Cell = tuple[str, str]
"""A state and an event."""
Way = tuple[str, ...]
"""What happens, step by step, until a transition is made."""


class Status(Enum):
    """What is known of a cell. The value is the word that files and pages have."""

    HIT = "hit"
    REACHABLE = "reachable"
    UNSENT = "unsent"
    NOT_REACHED = "not-reached"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class System:
    """A system that was explored to its end. ``machines``: those that are in it."""

    what: str
    machines: tuple[str, ...]


@dataclass(slots=True)
class MachineCells:
    """``counts``: executions of each cell in campaigns. ``ways``: of cells that exploration
    reached, the shortest known. ``unsent``: those that nothing causes in the systems that ran."""

    states: tuple[str, ...]
    events: tuple[str, ...]
    counts: dict[Cell, int]
    ways: dict[Cell, Way] = field(default_factory=dict)
    unsent: frozenset[Cell] = frozenset()

    def in_order(self) -> Iterator[Cell]:
        """All cells, in the order of states and events."""
        state = {name: number for number, name in enumerate(self.states)}
        event = {name: number for number, name in enumerate(self.events)}
        yield from sorted(self.counts, key=lambda cell: (state[cell[0]], event[cell[1]]))

    def merge(self, other: MachineCells) -> None:
        assert (self.states, self.events) == (other.states, other.events), "texts are the same"
        for cell, count in other.counts.items():
            self.counts[cell] = self.counts.get(cell, 0) + count
        for cell, way in other.ways.items():
            known = self.ways.get(cell)
            if known is None or len(way) < len(known):
                self.ways[cell] = way
        self.unsent &= other.unsent


@dataclass(slots=True)
class Cells:
    """``digest``: of the protocol's texts. ``exhausted``: the systems that were explored to their
    end."""

    protocol: str
    digest: str
    machines: dict[str, MachineCells] = field(default_factory=dict)
    exhausted: tuple[System, ...] = ()

    def merge(self, other: Cells) -> None:
        """Add what another file knows of the same texts."""
        assert self.digest == other.digest
        for name, theirs in other.machines.items():
            mine = self.machines.get(name)
            if mine is None:
                counts, ways = dict(theirs.counts), dict(theirs.ways)
                self.machines[name] = MachineCells(
                    theirs.states, theirs.events, counts, ways, theirs.unsent
                )
            else:
                mine.merge(theirs)
        self.exhausted = tuple(dict.fromkeys((*self.exhausted, *other.exhausted)))

    def status(self, machine: str, cell: Cell) -> Status:
        """What is known of a cell; the strongest that holds."""
        known = self.machines[machine]
        if known.counts.get(cell):
            return Status.HIT
        if cell in known.ways:
            return Status.REACHABLE
        if cell in known.unsent:
            return Status.UNSENT
        if any(machine in system.machines for system in self.exhausted):
            return Status.NOT_REACHED
        return Status.UNKNOWN

    def by_status(self, machine: str) -> dict[Status, list[Cell]]:
        """All cells of a machine, in order."""
        found: dict[Status, list[Cell]] = {status: [] for status in Status}
        for cell in self.machines[machine].in_order():
            found[self.status(machine, cell)].append(cell)
        return found

    def note(self, machine: str, cell: Cell) -> str:
        """What is known of a cell, in words."""
        status, known = self.status(machine, cell), self.machines[machine]
        if status is Status.HIT:
            count = known.counts[cell]
            return "hit once" if count == 1 else f"hit {count:,} times"
        if status is Status.REACHABLE:
            return f"reachable in {len(known.ways[cell])} steps"
        if status is Status.UNSENT:
            return "never caused by anything in these systems"
        if status is Status.NOT_REACHED:
            systems = sum(machine in system.machines for system in self.exhausted)
            return f"not reached in {systems} exhausted system{'s' if systems > 1 else ''}"
        return "never hit"
