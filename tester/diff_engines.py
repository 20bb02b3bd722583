"""Finds the first transition in which the two engines differ on a leg.

Both run the leg in slices of ticks and compare their trace hashes; the first slice whose hashes
differ is run again, with every transition written down. Invariant: what is shown is the first
difference in the order in which transitions happen, or there is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from runtime.errors import ProtocolError
from runtime.native.system import JUDGED, PoolExhausted
from runtime.system import System, build_system
from runtime.trace import TraceHash
from tester.campaign import leg_run, manners_of
from tester.introspect import controller_name, transition_location
from tester.leg import LegRun
from tester.native_leg import NativeLegRun, NativeProtocol
from tester.protocols import LoadedProtocol
from tester.replay import Leg

SHOWN_BEFORE: Final = 12
_SLICE: Final = 500
_ROOM: Final = 1 << 16

Numbers = tuple[int, int, int, int, int, int]
"""(tick, controller, address, state, event, next state)."""


@dataclass(frozen=True)
class Difference:
    """Where they part. ``before``: the last transitions that both have made.

    None: that engine makes no further transition, for the reason in ``ends``.
    """

    before: list[Numbers]
    python: Numbers | None
    native: Numbers | None
    ends: str = ""


class _Recorder:
    """Hashes all transitions and keeps the ones of the running slice."""

    def __init__(self) -> None:
        self.hash = TraceHash()
        self.steps: list[Numbers] = []

    def __call__(
        self,
        controller: object,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        self.hash(controller, address, state, event, next_state, comment)  # type: ignore[arg-type]
        tick, number = controller.engine.now, controller.consumer_id  # type: ignore[attr-defined]
        self.steps.append((tick, number, address, state, event, next_state))


def first_difference(
    protocol: LoadedProtocol, native: NativeProtocol, leg: Leg
) -> Difference | None:
    """Compare the episodes of a leg and the drain after them, transition by transition."""
    while True:
        try:
            return _compared(protocol, native, leg)
        except PoolExhausted as slip:
            grown = native.grown.at_least(native.grown.doubled(slip.pool))
            native.grown = grown


def _compared(protocol: LoadedProtocol, native: NativeProtocol, leg: Leg) -> Difference | None:
    python, recorder = _python(protocol, leg)
    run = NativeLegRun(leg, native, manners_of(leg))
    system = run.start()
    engine = python.system.engine
    history: deque[Numbers] = deque(maxlen=SHOWN_BEFORE)
    until = 0
    while True:
        ticks = [tick for tick in (_next(python.system), system.next_tick) if tick is not None]
        if not ticks:
            return None
        until = max(until, min(ticks)) + _SLICE
        snapshot = system.snapshot()
        recorder.steps.clear()
        ended = _advance(python, until)
        status = system.run(until)
        if recorder.hash.value != system.trace_hash or (ended is not None) != (status == JUDGED):
            system.restore(snapshot)
            steps = system.run_traced(until, max(_ROOM, 2 * len(recorder.steps)))
            rows = [(r[0], r[1], r[2], r[3], r[4], r[5]) for r in steps.tolist()]
            reason = ended or (f"native status {status}" if status == JUDGED else "")
            return _part(recorder.steps, rows, history, reason)
        if ended is not None:
            return None
        history.extend(recorder.steps[-SHOWN_BEFORE:])
        assert engine.now <= until, "an engine stops where it was asked to"


def _python(protocol: LoadedProtocol, leg: Leg) -> tuple[LegRun, _Recorder]:
    system = build_system(protocol.info, leg.description, leg.run_key)
    recorder = _Recorder()
    for controller in system.controllers:
        controller.observer = recorder
    run = leg_run(leg, system)
    run.driver.start()
    return run, recorder


def _next(system: object) -> int | None:
    ticks: list[int] = system.engine.ticks  # type: ignore[attr-defined]
    return ticks[0] if ticks else None


def _advance(run: LegRun, until: int) -> str | None:
    """Run the Python engine; why it ended for good, if it did."""
    try:
        run.system.engine.run(until)
    except ProtocolError as error:
        return str(error)
    finding = run.checker.finding
    return None if finding is None else finding.headline


def _part(
    python: list[Numbers], native: list[Numbers], history: deque[Numbers], ends: str
) -> Difference:
    """The first place in which two lists differ."""
    place = 0
    while place < min(len(python), len(native)) and python[place] == native[place]:
        history.append(python[place])
        place += 1
    mine = python[place] if place < len(python) else None
    theirs = native[place] if place < len(native) else None
    return Difference(list(history), mine, theirs, ends)


def describe(difference: Difference, system: System) -> Iterator[str]:
    """Lines for people; ``system`` tells the names."""
    for step in difference.before:
        yield f"  both    {_step(step, system)}"
    for name, step_or_none in (("Python", difference.python), ("native", difference.native)):
        shown = (
            "makes no further transition" if step_or_none is None else _step(step_or_none, system)
        )
        yield f"  {name}  {shown}"
    if difference.ends:
        yield f"  {difference.ends}"


def _step(step: Numbers, system: System) -> str:
    tick, number, address, state, event, following = step
    controller = system.controllers[number]
    states = controller.STATES
    change = f"{states.name_of(state)} -> {states.name_of(following)}"
    where = transition_location(type(controller), state, event)
    name = controller.EVENTS.name_of(event)
    return (
        f"{tick:>9,}  {controller_name(controller):<12} {address:#x}  {name:<24} {change}  {where}"
    )
