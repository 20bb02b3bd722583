"""Finds the first transition in which the two engines differ on a leg.

Both run the whole leg, and every transition is recorded. Invariant: the reported difference is the
first one in the order in which transitions happen, or there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from protocols.loader import LoadedProtocol
from runtime.controller.source_location import transition_location
from runtime.system.builder import build_system
from runtime.system.system import System
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import AnyRun, leg_run
from tester.diagnosis.events.system_inspection import controller_name
from tester.execution.handover import handover_rules_of
from tester.execution.leg import Outcome
from tester.native.leg import NativeLegRun, NativeProtocol
from tester.program.replay_file import Leg

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller

SHOWN_BEFORE: Final = 12

OnProgress = Callable[[AnyRun], None]

Numbers = tuple[int, ...]
"""(tick, controller, address, state, event, next state)."""
Steps = npt.NDArray[np.uint64]
"""[N, 6]: such numbers."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the engines diverge. ``before``: the last transitions that both have made.

    ``python``, ``native``: what each does next; None: nothing more. ``ends``: how each leg ended.
    """

    before: list[Numbers]
    python: Numbers | None
    native: Numbers | None
    ends: tuple[str, str]


def first_difference(
    protocol: LoadedProtocol,
    native: NativeProtocol,
    leg: Leg,
    on_progress: OnProgress | None = None,
) -> Difference | None:
    """Compare a leg transition by transition, and how it ends. ``on_progress`` may raise."""
    mine, python = traced_in_python(protocol, leg, on_progress)
    theirs, natively = traced_natively(native, leg, on_progress)
    python_end, native_end = _end(python.outcome), _end(natively.outcome)
    shared = min(len(mine), len(theirs))
    differs = (mine[:shared] != theirs[:shared]).any(axis=1)
    place = int(np.argmax(differs)) if differs.any() else shared
    if place == len(mine) == len(theirs) and python_end == native_end:
        return None
    return Difference(
        [tuple(row) for row in mine[max(0, place - SHOWN_BEFORE) : place].tolist()],
        tuple(mine[place].tolist()) if place < len(mine) else None,
        tuple(theirs[place].tolist()) if place < len(theirs) else None,
        (python_end, native_end),
    )


def traced_in_python(
    protocol: LoadedProtocol, leg: Leg, on_progress: OnProgress | None = None
) -> tuple[Steps, AnyRun]:
    """All transitions of a leg on the Python engine, and the run, which is over."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    steps: list[Numbers] = []

    def note(
        controller: Controller, address: int, state: int, event: int, following: int, _: str, /
    ) -> None:
        tick, number = controller.engine.now, controller.consumer_id
        steps.append((tick, number, address, state, event, following))

    for controller in system.controllers:
        controller.observer = note
    run = leg_run(leg, system, on_progress=on_progress)
    run.run()
    return np.array(steps, np.uint64).reshape(-1, 6), run


def traced_natively(
    native: NativeProtocol, leg: Leg, on_progress: OnProgress | None = None
) -> tuple[Steps, AnyRun]:
    """All transitions of a leg on the native engine, and the run, which is over."""
    run = NativeLegRun(leg, native, handover_rules_of(leg), on_progress)
    run.steps = []
    run.run()
    return np.concatenate([np.zeros((0, 6), np.uint64), *run.steps]), run


def _end(outcome: Outcome) -> str:
    found = outcome.finding
    verdict = "passed" if found is None else f"{found.verdict.value} in tick {found.tick}"
    return f"{verdict} after {outcome.episodes} episodes, {outcome.ticks} ticks"


def describe(difference: Difference, system: System) -> Iterator[str]:
    """Lines for users; names are those of ``system``."""
    for step in difference.before:
        yield f"  both    {_step(step, system)}"
    for name, step_or_none in (("Python", difference.python), ("native", difference.native)):
        shown = (
            "makes no further transition" if step_or_none is None else _step(step_or_none, system)
        )
        yield f"  {name}  {shown}"
    for name, end in zip(("Python", "native"), difference.ends):
        yield f"  {name}  ends: {end}"


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
