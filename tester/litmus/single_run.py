"""One run of a racy scenario: what its registers and its memory ended with.

Values are not judged while it runs; that every request is answered once, that nothing hangs or is
left behind, is checked as in any leg. Invariant: both engines give the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.system.builder import build_system
from runtime.system.system import System
from slicc.scenario_text.conditions import Outcome
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import WordArray
from tester.campaign.campaign import leg_run
from tester.engines.selection import CANNOT, Chosen
from tester.execution.events import Finding, Request, RequestObserver, Role
from tester.execution.handover import handover_rules_of
from tester.execution.leg import LegRun
from tester.native.leg import NativeLegRun, NativeProtocol
from tester.program.program import Program
from tester.program.replay_file import Leg
from tester.scenario_text.to_program import Lowered, value_at


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: with an outcome, or with a fault of the protocol."""

    outcome: Outcome
    finding: Finding | None = None
    ticks: int = 0


class Recorder:
    """Keeps what loads and atomic operations of a program return: `values`, by row and lane."""

    def __init__(self, program: Program) -> None:
        self.values: WordArray = np.zeros(program.lane_address.shape, np.uint64)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        if request.role != Role.ACTION:
            return
        for index in indices:
            lane, offset = request.lanes[index], request.addresses[index] - line
            for number, size in enumerate(request.pieces or [request.size]):
                if offset >= 0:
                    value = data >> 8 * offset & (1 << 8 * size) - 1
                    self.values[request.row + number, lane] = value
                offset += size

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        if request.role == Role.ACTION:
            for index, value in zip(indices, values):
                self.values[request.row, request.lanes[index]] = value

    def issued(self, request: Request, tick: int) -> None: ...

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None: ...

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None: ...

    def synchronized(self, request: Request, tick: int) -> None: ...


def run_once(leg: Leg, lowered: Lowered, protocol: LoadedProtocol, engine: Chosen) -> Ended:
    """Run a racy leg on the fastest engine there is."""
    if engine.native is not None:
        try:
            return _natively(leg, lowered, engine.native)
        except CANNOT:
            pass
    return run_in_python(leg, lowered, protocol)[0]


def run_in_python(
    leg: Leg,
    lowered: Lowered,
    protocol: LoadedProtocol,
    observers: Iterable[RequestObserver] = (),
    system: System | None = None,
) -> tuple[Ended, LegRun]:
    """Run a racy leg on the Python engine, for reports. ``system``: one that was built for it."""
    system = system or build_system(protocol.info, leg.description, leg.run_key)
    system.memory.zeroed = leg.zeroed
    recorder = Recorder(leg.program)
    run = leg_run(leg, system, (recorder, *observers))
    finding = run.run().finding
    ended = Ended(_outcome(recorder.values, lowered), finding, run.outcome.ticks)
    return ended, run


def _natively(leg: Leg, lowered: Lowered, native: NativeProtocol) -> Ended:
    rules = handover_rules_of(leg)
    run = NativeLegRun(leg, native, rules, zeroed=leg.zeroed, observes=True)
    finding = run.run().finding
    return Ended(_outcome(run.returned(), lowered), finding, run.outcome.ticks)


def _outcome(values: WordArray, lowered: Lowered) -> Outcome:
    sizes = lowered.program.action_size
    return {term: value_at(values, slot, sizes) for term, slot in lowered.observables.items()}
