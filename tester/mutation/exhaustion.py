"""Survivors in small systems of which every run is followed.

Twenty thousand episodes say that a mistake was not seen; an exhausted system says that it cannot be
seen there. Invariant: a mutant is called equivalent only where each cell with its mistake was
executed in one of the systems, and every run of all of them is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from protocols.loader import LoadedProtocol
from protocols.mutated import MutatedProtocol
from tester.exploration.exploration import Exploration, Verdict, explore
from tester.exploration.native_search import Rules
from tester.exploration.small_system import Bounds
from tester.mutation.relevance import Cells, cells_of
from tester.mutation.study import Watch
from tester.scenario.machine_roles import atomic_ways, find_roles
from tester.scenario.scenario import Shape

_ANY_NUMBER: Final = 1 << 16
"""Of messages under way: a system that is too large is not searched for a bound that fits."""


@dataclass(frozen=True, slots=True)
class Explored:
    """``reason``: why the mutant is equivalent, or why that is not known."""

    equivalent: bool
    reason: str


def systems_of(protocol: LoadedProtocol) -> Iterator[Bounds]:
    """Two caches of one frame: evictions, atomic operations between other accesses, and engines."""
    description = protocol.description
    roles = find_roles(protocol.info, description)
    ways = atomic_ways(Shape(atomics="linked"), protocol.accepted, description)
    acquire = ("acquire",) if roles.is_gpu else ()
    yield Bounds(locations=1, lines=2)
    yield Bounds(
        locations=1,
        operations=("load", "store", "atomic", *acquire),
        assignments=tuple(ways.items()),
    )
    if roles.dmas:
        yield Bounds(locations=1, engines=True)


class Exhaustion:
    """``most``: states of a system. Raises ConfigError for what cannot be explored."""

    def __init__(self, mutated: MutatedProtocol, most: int) -> None:
        self._mutated = mutated
        self._rules = Rules(most_states=most, bound=_ANY_NUMBER)
        self._systems = tuple(systems_of(mutated.loaded))
        self.obstacle = self._wrong(mutated.loaded, set())
        """Why nothing can be said of mutants: the original's systems. Empty: nothing."""

    def judged(self, number: int, watch: Watch) -> Explored:
        """Mutant ``number``, counted from 1."""
        watch(True)
        executed: set[tuple[str, int]] = set()
        wrong = self.obstacle or self._wrong(self._mutated.alone(number), executed)
        watch(False)
        if wrong:
            return Explored(False, wrong)
        cells = cells_of(self._mutated.ir, self._mutated.mutants[number - 1])
        if cells is None:
            return Explored(False, "small systems do not tell whether its mistake runs")
        if not cells <= executed:
            return Explored(False, "small systems do not come to all of it")
        return Explored(True, "every run of the small systems is right")

    def _wrong(self, protocol: LoadedProtocol, executed: set[tuple[str, int]]) -> str:
        """What is wrong in one of the systems; empty: nothing. Adds the cells that were run."""
        for bounds in self._systems:
            found = explore(protocol, bounds, self._rules)
            executed |= _cells(found, protocol)
            if found.finding is not None:
                kind = found.finding.kind.name.lower().replace("_", " ")
                steps = len(found.finding.trace)
                return f"exploration finds it after {steps} steps ({kind})"
            if found.interruption is not None:
                raise found.interruption
            if found.verdict is not Verdict.EXHAUSTED:
                return f"a small system has more than {self._rules.most_states:,} states"
            if not found.completion_judged:
                return "it is not known whether every request of a small system completes"
        return ""


def _cells(found: Exploration, protocol: LoadedProtocol) -> Cells:
    machines = protocol.info.machines
    return frozenset(
        (machine.MACHINE, cell.state * (machine.EVENTS.NUM + 1) + cell.event)
        for cell in found.cells
        for machine in (machines[cell.machine],)
    )
