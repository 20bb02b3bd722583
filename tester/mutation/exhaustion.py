"""Survivors in small systems of which every run is followed.

Twenty thousand episodes say that a mistake was not seen; an exhausted system says that it cannot be
seen there. Invariant: a mutant is called equivalent only where each cell with its mistake was
executed in one of the systems, and every run of all of them is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocols.loader import LoadedProtocol
from protocols.mutated import MutatedProtocol
from slicc import ir
from slicc.ir.walk import expressions_in
from slicc.mutation.changed_cells import changed_cells
from slicc.text.lazy_dataclass import dataclass
from tester.exploration.exploration import Conclusion, Exploration, explore
from tester.exploration.native_search import Rules
from tester.exploration.small_system import Bounds
from tester.mutation.study import Watch
from tester.profiles.machine_roles import atomic_ways, find_roles
from tester.profiles.profile_draw import Shape

_ANY_NUMBER: Final = 1 << 16
"""Of messages under way: a system that is too large is not searched for a bound that fits."""
_RESERVATIONS: Final = 1
"""The number of the system with load-linked."""
_Cell = tuple[str, str, str]
"""Machine, state, event."""
_Cells = frozenset[_Cell]


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
        self.obstacle = self._wrong(mutated.loaded, [])
        """Why nothing can be said of mutants: the original's systems. Empty: nothing."""

    def judged(self, number: int, watch: Watch) -> Explored:
        """Mutant ``number``, counted from 1."""
        watch(True)
        executed: list[_Cells] = []
        wrong = self.obstacle or self._wrong(self._mutated.alone(number), executed)
        watch(False)
        if wrong:
            return Explored(False, wrong)
        mutant = self._mutated.mutants[number - 1]
        cells = changed_cells(self._mutated.ir, mutant)
        if cells is None:
            return Explored(False, "small systems do not tell whether its mistake runs")
        machine = next(m for m in self._mutated.ir.machines if m.name == mutant.machine)
        everywhere = frozenset[_Cell]().union(*executed)
        for cell in cells:
            where = executed[_RESERVATIONS] if _reports_loss(machine, cell) else everywhere
            if (machine.name, cell.state, cell.event) not in where:
                return Explored(False, "small systems do not come to all of it")
        return Explored(True, "every run of the small systems is right")

    def _wrong(self, protocol: LoadedProtocol, executed: list[_Cells]) -> str:
        """What is wrong in one of the systems; empty: nothing. Adds the cells that each ran."""
        for bounds in self._systems:
            found = explore(protocol, bounds, self._rules)
            executed.append(self._cells(found))
            if found.finding is not None:
                kind = found.finding.kind.name.lower().replace("_", " ")
                steps = len(found.finding.trace)
                return f"exploration finds it after {steps} steps ({kind})"
            if found.interruption is not None:
                raise found.interruption
            if found.conclusion is not Conclusion.EXHAUSTED:
                return f"a small system has more than {self._rules.most_states:,} states"
            if not found.completion_judged:
                return "it is not known whether every request of a small system completes"
        return ""

    def _cells(self, found: Exploration) -> _Cells:
        machines = self._mutated.ir.machines
        return frozenset(
            (
                machines[cell.machine].name,
                machines[cell.machine].states.members[cell.state].name,
                machines[cell.machine].events.members[cell.event].name,
            )
            for cell in found.cells
        )


def _reports_loss(machine: ir.Machine, cell: ir.Cell) -> bool:
    """Whether the row says that the line is lost, which only reservations look at."""
    row = machine.transitions[cell.transition]
    return any(
        isinstance(each, ir.CallMethod) and each.method == "evictionCallback"
        for action in machine.actions
        if action.ref in row.actions
        for each in expressions_in(action.body)
    )
