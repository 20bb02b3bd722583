"""A counterexample as a leg, and whether the timed engines fail with it as the exploration did.

Invariant: a leg that is called the same fails in the same way: with the same error in the same
place of the protocol, or with a wrong value, a deadlock or something left behind where those were
found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.controller.shapes import Controller
from runtime.description.inference import complete
from runtime.errors import ErrorKind
from runtime.native.system import ErrorWord
from runtime.system.builder import build_system
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import kind_of, leg_run
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Finding, Role, Verdict
from tester.execution.handover import agents_of
from tester.execution.leg import DEADLOCK_LIMIT, LegRun
from tester.exploration.counterexample.accesses import (
    NoProgram,
    layout_of,
    program_of,
)
from tester.exploration.counterexample.direction import (
    AFTERWARDS,
    Directed,
    directed,
    steps_apart,
)
from tester.exploration.counterexample.followed import Began, Followed, follow
from tester.exploration.exploration import ErrorTrace, Exploration, Step, Transition
from tester.exploration.native_words import FindingKind
from tester.exploration.report import Namer
from tester.exploration.small_system import FIRST_ADDRESS, LINE_BYTES, SmallSystem
from tester.profiles.machine_roles import abilities
from tester.program.replay_file import Leg

PROFILE: Final = "explore"
"""What a leg of a counterexample has in place of a profile."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """``leg`` None: no program does what the trace does. ``kind``: what the leg fails with, as
    `tester.campaign.campaign.kind_of` has it; empty: it passes. ``same``: as the exploration did.
    ``difference``: why not, or where the timed engine took another way."""

    leg: Leg | None
    kind: str
    same: bool
    difference: str
    finding: Finding | None = None


def counterexample(
    found: Exploration, protocol: LoadedProtocol, version: str = ""
) -> Counterexample:
    """A leg that shows what an exploration found: the first that fails in the same way, else the
    best one there is."""
    assert found.finding is not None
    followed = follow(protocol, found.system, found.rules, found.finding)
    best: Counterexample | None = None
    for way in _ways(found, followed):
        try:
            tried = _tried(found, protocol, way, version)
        except NoProgram as error:
            tried = Counterexample(None, "", False, f"no program does what the trace does: {error}")
        if tried.same:
            return tried
        best = best or tried
    assert best is not None
    return best


def _ways(found: Exploration, followed: Followed) -> Iterator[Followed]:
    """The trace; where two may use a line at once, with a store and a load behind it that show
    it."""
    assert found.finding is not None
    if found.finding.kind is not FindingKind.TWO_WRITERS:
        yield followed
        return
    bounds, end = found.system.bounds, len(followed.steps)
    for writer, reader in permutations(range(len(found.system.agents)), 2):
        for line in range(bounds.lines):
            where = line * bounds.locations
            store = Began(writer, "store", where, end, end + 1)
            load = Began(reader, "load", where, end + 1, end + 2)
            yield followed.continued((store, load), bounds.locations)


def _tried(
    found: Exploration,
    protocol: LoadedProtocol,
    followed: Followed,
    version: str,
) -> Counterexample:
    assert found.finding is not None
    leg = _leg(found, protocol, followed, version)
    order = directed(leg, protocol, followed)
    run, made = _traced(order.leg, protocol)
    finding = run.outcome.finding
    kind = "" if finding is None else kind_of(run, finding)
    same = finding is not None and _is_same(found.finding, run, finding, protocol, found.system)
    difference = "" if same else _difference(found, protocol, followed, order, made, kind)
    return Counterexample(order.leg, kind, same, difference, finding)


def _leg(
    found: Exploration,
    protocol: LoadedProtocol,
    followed: Followed,
    version: str,
) -> Leg:
    """Nothing of it is delayed yet."""
    system = found.system
    line_size = layout_of(system).line_size
    written = system.description.override({"line_size": line_size})
    description = complete(written, protocol.info)
    _, groups = agents_of(description)
    able = abilities(protocol.accepted, description)
    assert found.finding is not None
    last = _whose_value(found.finding, followed)
    program = program_of(
        system, followed.accesses, last, description, [able[group] for group in groups]
    )
    leg = Leg(
        program,
        description,
        protocol.identity,
        DEADLOCK_LIMIT,
        profile=PROFILE,
        version=version,
        texts=protocol.texts,
    )
    limit = 2 * (len(followed.steps) + AFTERWARDS) * steps_apart(leg)
    return replace(leg, deadlock_limit=max(DEADLOCK_LIMIT, limit))


def _whose_value(found: ErrorTrace, followed: Followed) -> Began | None:
    """The access whose value was wrong; where two may use a line at once, the last one."""
    if found.kind is FindingKind.TWO_WRITERS:
        return followed.accesses[-1]
    if found.kind not in (FindingKind.VALUE, FindingKind.OLD_VALUE):
        return None
    judged = found.judgement
    theirs = [
        each
        for each in followed.accesses
        if each.agent == judged.agent and each.where == judged.where and _returns(each.operation)
    ]
    return theirs[-1]


def _returns(operation: str) -> bool:
    return operation.startswith(("load", "fetch", "atomic"))


def _traced(leg: Leg, protocol: LoadedProtocol) -> tuple[LegRun, list[Transition]]:
    """One run on the Python engine, and its transitions."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    line_size = leg.program.line_size
    made: list[Transition] = []

    def note(
        controller: Controller, address: int, state: int, event: int, next: int, comment: str
    ) -> None:
        line = FIRST_ADDRESS + (address - FIRST_ADDRESS) // line_size * LINE_BYTES
        made.append(Transition(controller.consumer_id, line, state, event, next))

    for controller in system.controllers:
        controller.observer = note
    run = leg_run(leg, system)
    run.run()
    return run, made


# ------------------------------------------------------------------ the same failure


def _is_same(
    found: ErrorTrace, run: LegRun, finding: Finding, protocol: LoadedProtocol, system: SmallSystem
) -> bool:
    verdict = finding.verdict
    if found.kind in (FindingKind.VALUE, FindingKind.OLD_VALUE, FindingKind.TWO_WRITERS):
        request = finding.request
        of_program = request is not None and request.role in (Role.ACTION, Role.OPEN)
        return of_program and verdict in (*VALUE_VERDICTS, *ATOMIC_VERDICTS)
    if found.kind in (FindingKind.DEADLOCK, FindingKind.NO_COMPLETION):
        return verdict is Verdict.HANG
    if found.kind is FindingKind.LEAK:
        return verdict is Verdict.LEAK
    error = run.outcome.error
    if found.kind is not FindingKind.ERROR or error is None:
        return False
    words = found.judgement.error
    same_kind = error.kind is list(ErrorKind)[(words[ErrorWord.KIND] or 1) - 1]
    return same_kind and _place_of(found, protocol, system) in (run.place, "")


def _place_of(found: ErrorTrace, protocol: LoadedProtocol, system: SmallSystem) -> str:
    words = found.judgement.error
    controller = words[ErrorWord.CONTROLLER]
    if controller is None:
        return ""
    machine = protocol.info.machines[system.machines[controller]]
    state, event = words[ErrorWord.STATE], words[ErrorWord.EVENT]
    parts = [machine.MACHINE]
    if state is not None:
        parts.append(machine.STATES.name_of(state))
    if event is not None:
        parts.append(machine.EVENTS.name_of(event))
    return ".".join(parts)


# ------------------------------------------------------------------ another way


def _difference(
    found: Exploration,
    protocol: LoadedProtocol,
    followed: Followed,
    order: Directed,
    made: list[Transition],
    kind: str,
) -> str:
    """Where the timed engine first did something else than the trace."""
    ends = f"the timed engine {'ends with ' + kind if kind else 'passes'}"
    namer = Namer(protocol, found.system)
    left: dict[int, list[Transition]] = {}
    for each in made:
        left.setdefault(each.controller, []).append(each)
    for number, step in enumerate(followed.steps):
        for wanted in step.transitions:
            there = left.get(wanted.controller)
            taken = there.pop(0) if there else None
            if taken == wanted:
                continue
            did = "nothing more" if taken is None else _text(namer, step, taken)
            return (
                f"{ends}: in step {number + 1} ({namer.choice(step.choice)}) there was {did} "
                f"in place of {_text(namer, step, wanted)}"
            )
    if order.late is not None:
        return f"{ends}: the message of step {order.late.step + 1} was sent too late"
    assert found.finding is not None
    if found.finding.kind is FindingKind.INVARIANT:
        return f"{ends}: every transition of the trace was taken, but it judges no invariants"
    return f"{ends}, although every transition of the trace was taken"


def _text(namer: Namer, step: Step, transition: Transition) -> str:
    """``L1Cache 1 line 0 Load M``."""
    (text,) = namer.transitions(replace(step, transitions=(transition,)))
    return " ".join(text.split())
