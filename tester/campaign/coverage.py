"""Which transitions a run has executed, per machine, merged over instances and legs.

A cell is a (state, event) pair that the protocol defines; executing any other aborts a run. Pairs
that only stall are never executed and are not cells.
Invariant: counts only grow, and merging is addition, so files of many runs can be merged the same
way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from slicc.coverage.cells import Cell, Cells, MachineCells
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class MachineCoverage:
    """Executions of every defined (state, event) pair of one machine."""

    states: tuple[str, ...]
    events: tuple[str, ...]
    counts: dict[tuple[int, int], int]
    """Defined pairs only; zero where never executed."""

    @property
    def defined(self) -> int:
        return len(self.counts)

    @property
    def hit(self) -> int:
        return sum(1 for count in self.counts.values() if count)

    @property
    def transitions(self) -> int:
        """Executions, retries of stalled messages included."""
        return sum(self.counts.values())

    def missed(self) -> list[tuple[str, str]]:
        """Names of the pairs never executed, in the order of states and events."""
        return [
            (self.states[s], self.events[e]) for (s, e), n in sorted(self.counts.items()) if not n
        ]


@dataclass(slots=True)
class Coverage:
    """Coverage of all machines of a protocol that were instantiated."""

    protocol: str
    machines: dict[str, MachineCoverage] = field(default_factory=dict)

    def add(self, controllers: Iterable[Any]) -> None:
        """Add the counts of a system's controllers (``runtime.controller.shapes.Controller``)."""
        for controller in controllers:
            machine = self.machines.get(controller.MACHINE)
            if machine is None:
                machine = self.machines[controller.MACHINE] = _machine(type(controller))
            for state, event in machine.counts:
                machine.counts[state, event] += controller.count_of(state, event)

    def add_counts(self, controller: Any, counts: Sequence[int], stride: int) -> None:
        """Add the counts of all instances of a machine: ``counts[state * stride + event]``."""
        machine = self.machines.get(controller.MACHINE)
        if machine is None:
            machine = self.machines[controller.MACHINE] = _machine(controller)
        for state, event in machine.counts:
            machine.counts[state, event] += counts[state * stride + event]

    def merge(self, other: Coverage) -> None:
        """Add the counts of another run of the same protocol."""
        for name, theirs in other.machines.items():
            machine = self.machines.get(name)
            if machine is None:
                blank = dict.fromkeys(theirs.counts, 0)
                machine = MachineCoverage(theirs.states, theirs.events, blank)
                self.machines[name] = machine
            for cell, count in theirs.counts.items():
                machine.counts[cell] += count

    @property
    def transitions(self) -> int:
        return sum(machine.transitions for machine in self.machines.values())

    def idle(self) -> list[str]:
        """Machines that were there and executed nothing."""
        return [name for name, machine in self.machines.items() if not machine.transitions]

    def summary(self) -> list[str]:
        """One line per machine: hit / defined, percentage, executions."""
        if not self.machines:
            return []
        width = max(len(name) for name in self.machines)
        lines = []
        for name, machine in self.machines.items():
            share = 100 * machine.hit / machine.defined if machine.defined else 100.0
            lines.append(
                f"{name:<{width}}  {machine.hit:>4} / {machine.defined:<4} {share:5.1f} %  "
                f"{machine.transitions:>12,} executions"
            )
        return lines

    def cells(self, digest: str, unsent: Mapping[str, Collection[Cell]]) -> Cells:
        """By name, for a file. ``digest``: of the protocol's texts; ``unsent``: what nothing
        causes, by machine."""
        found = Cells(self.protocol, digest)
        for name, machine in self.machines.items():
            counts = {
                (machine.states[state], machine.events[event]): count
                for (state, event), count in machine.counts.items()
            }
            never = frozenset(cell for cell in unsent.get(name, ()) if cell in counts)
            found.machines[name] = MachineCells(
                machine.states, machine.events, counts, unsent=never
            )
        return found


def _machine(controller: Any) -> MachineCoverage:
    """All defined pairs of a controller class, none executed."""
    return MachineCoverage(
        tuple(controller.STATES.members()),
        tuple(controller.EVENTS.members()),
        {cell: 0 for cell, row in controller.TRANSITIONS.items() if not row.stalls},
    )
