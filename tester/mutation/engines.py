"""One mutant through one leg, on either engine.

Invariant: both give the same verdict, episodes, cells and transitions; which one ran is not seen in
a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from protocols.mutated import MutatedProtocol
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.trace import TraceHash
from runtime.native.system import CountsTable, SystemTooLarge
from runtime.system.builder import build_system
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import AnyRun
from tester.execution.events import Verdict
from tester.execution.handover import handover_rules_of
from tester.execution.leg import LegRun
from tester.mutation.relevance import Cells
from tester.native.leg import NativeLegRun
from tester.native.mutants import MutantProtocol
from tester.program.replay_file import Leg


@dataclass(frozen=True, slots=True)
class LegEnd:
    """How a leg ended. ``verdict`` None: it passed. ``trace``: a hash of all transitions."""

    verdict: Verdict | None
    place: str
    episodes: int
    trace: int
    cells: Cells


class Engine(Protocol):
    """Runs a leg with a mutant; number 0 is the original."""

    def run(self, number: int, leg: Leg) -> LegEnd: ...


class NativeEngine:
    """All mutants in one object."""

    def __init__(self, original: MutantProtocol) -> None:
        self._original = original

    def run(self, number: int, leg: Leg) -> LegEnd:
        protocol = self._original if number == 0 else self._original.chosen(number)
        run = NativeLegRun(leg, protocol, handover_rules_of(leg))
        try:
            run.run()
        except SystemTooLarge:
            if number == 0:
                raise
            return LegEnd(Verdict.RUNAWAY, "", 0, 0, frozenset())  # it fills any pool
        return _end(
            run, run.system.trace_hash, _cells(run.counts()) if number == 0 else frozenset()
        )


class PythonEngine:
    """Each mutant is a package of controllers."""

    def __init__(self, mutated: MutatedProtocol) -> None:
        self._mutated = mutated
        self._last: tuple[int, ProtocolInfo] = (0, mutated.loaded.info)

    def run(self, number: int, leg: Leg) -> LegEnd:
        if self._last[0] != number:
            self._last = (number, self._mutated.in_python(number))
        system = build_system(self._last[1], leg.description, leg.run_key)
        trace = TraceHash()
        for controller in system.controllers:
            controller.observer = trace
        run = LegRun(leg.program, system, leg.deadlock_limit, handover_rules_of(leg))
        run.run()
        cells = frozenset(
            (controller.MACHINE, cell)
            for controller in system.controllers
            for cell, count in enumerate(controller.counts)
            if count
        )
        return _end(run, trace.value, cells if number == 0 else frozenset())


def _end(run: AnyRun, trace: int, cells: Cells) -> LegEnd:
    finding = run.outcome.finding
    if finding is None:
        return LegEnd(None, "", run.outcome.episodes, trace, cells)
    return LegEnd(finding.verdict, run.place, run.outcome.episodes, trace, cells)


def _cells(counts: Mapping[str, CountsTable]) -> Cells:
    return frozenset(
        (machine, int(cell))
        for machine, found in counts.items()
        for cell in found.table.nonzero()[0]
    )
