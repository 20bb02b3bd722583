"""Findings of the walks: pairs without a transition, null records, errors, and what waits for ever.

Invariant: every finding here has a way there, which its notes sketch; the walks see a small system
and one line, so silence proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from slicc import ir
from slicc.analysis.product.bodies import Correction
from slicc.analysis.product.corrections import miscounts
from slicc.analysis.product.exploration import SYSTEMS, Exploration, Findings
from slicc.analysis.product.kept_attempts import KeptAttempts
from slicc.analysis.product.local import PRESSURE, TIMER, Happening, Memory
from slicc.analysis.product.machine import models_of
from slicc.analysis.product.suspects import blamed
from slicc.analysis.rule import cells, finding
from slicc.diagnostics.model import Diagnostic, Label

STEPS = 1_500
"""Messages looked at in each system, at most: MESI_Two_Level meets 167 of 200 cells in 0.08 s,
with 4,000 it meets 183 in 0.2 s. Of seeded mistakes 152 are found instead of 155."""
_SHOWN = 6
_REST = {
    "waiting": ("never-woken", "a message stays stalled though nothing is under way any more"),
    "unanswered": ("never-answered", "a request gets no answer though nothing is under way"),
    "kept": ("kept-at-rest", "a TBE is left though nothing is under way any more"),
}
SLUGS = (
    "wrong-count",
    "message-kept",
    "unread-message",
    "other-message-read",
    "unhandled-pair",
    "null-record",
    "error-reached",
    "two-writers",
    *(slug for slug, _ in _REST.values()),
)


def walked(protocol: ir.Protocol, steps: int = STEPS, kept: KeptAttempts | None = None) -> Findings:
    """What walks through small systems of the protocol meet.

    ``kept``: what machines did in earlier runs; only for a protocol that is as its texts say.
    """
    found, models = Findings(), models_of(protocol)
    memories = [Memory() for _ in SYSTEMS] if kept is None else kept.memories(models)
    for driven, memory in zip(SYSTEMS, memories):
        Exploration(models, driven, memory).run(steps, found)
    if kept is not None:
        kept.keep(models, memories)
    found.happenings = blamed(found.happenings, found.outcomes, models)
    return found


def miscounted(protocol: ir.Protocol, found: Findings, steps: int = STEPS) -> Iterator[Diagnostic]:
    """The place where a count is off by one, if that explains all that walks found."""
    if not found.happenings:
        return
    blamed_at = found.happenings[0].span
    here = (blamed_at.file, blamed_at.line) if blamed_at is not None else None
    corrections = sorted(
        miscounts(models_of(protocol), protocol.structs, found, steps),
        key=lambda each: (each.count.span.file, each.count.span.line) != here,
    )
    if corrections:
        first, *others = corrections
        yield finding(
            "wrong-count",
            f"a count is probably one {'less' if first.by > 0 else 'more'} than it is meant to be",
            first.count.span,
            f"{_by(first)} here, and walks find nothing",
            secondary=[Label(each.count.span, f"or {_by(each)} here") for each in others],
            notes=[f"of what they find now ({len(found.happenings)}) nothing is left then"],
        )


def _by(correction: Correction) -> str:
    return "one more" if correction.by > 0 else "one less"


def reachable(protocol: ir.Protocol, found: Findings) -> Iterator[Diagnostic]:
    """The findings as diagnostics, one of each kind at each place."""
    machines = {machine.name: machine for machine in protocol.machines}
    seen: set[tuple[str, str, str, object]] = set()
    for happening in found.happenings:
        key = (happening.kind, happening.machine, happening.state, happening.event)
        at_span = happening.span is not None and happening.kind != "writers"
        place = (*key[:2], "", happening.span) if at_span else key
        if place in seen:
            continue
        seen.add(place)
        yield _diagnostic(machines[happening.machine], happening)


def _diagnostic(machine: ir.Machine, happening: Happening) -> Diagnostic:
    notes = [_way(happening)]
    match happening.kind:
        case "unhandled":
            return _unhandled(machine, happening, notes)
        case "null":
            return finding(
                "null-record",
                f"a line of machine `{machine.name}` has no entry or TBE when this is used",
                happening.span,
                "it is null",
                notes=notes,
                help="test it with `is_valid`",
            )
        case "unread":
            return finding(
                "unread-message",
                f"machine `{machine.name}` sends a message where it is not read: {happening.what}",
                happening.span,
                "never received",
                notes=notes,
            )
        case "misdirected":
            return finding(
                "other-message-read",
                f"machine `{machine.name}` sends {happening.what} on a virtual network from which "
                "it is not expected",
                happening.span,
                f"taken there for `{happening.event}` in state `{happening.state}`",
                notes=notes,
            )
        case "left":
            return finding(
                "message-kept",
                f"the transition for {cells([happening.state], [happening.event])} leaves "
                f"{_message(happening)} at the head of its queue",
                happening.span,
                "what triggers next with the same message goes wrong",
                notes=notes,
            )
        case "writers":
            return _writers(machine, happening, notes)
        case "reached":
            return finding(
                "error-reached",
                f"machine `{machine.name}` gets here{_with(happening)}",
                happening.span,
                happening.what,
                notes=notes,
            )
        case "rest":
            return _at_rest(machine, happening, notes)
        case _:
            assert_never(happening.kind)


def _at_rest(machine: ir.Machine, happening: Happening, notes: list[str]) -> Diagnostic:
    slug, headline = _REST[happening.what]
    return finding(
        slug,
        f"{headline} in machine `{machine.name}`",
        happening.span,
        "nothing follows from this transition",
        notes=notes,
    )


def _unhandled(machine: ir.Machine, happening: Happening, notes: list[str]) -> Diagnostic:
    state = next(each for each in machine.states.members if each.name == happening.state)
    event = next(each for each in machine.events.members if each.name == happening.event)
    return finding(
        "unhandled-pair",
        f"machine `{machine.name}` has no transition for `{happening.event}` in state "
        f"`{happening.state}`, and that can happen",
        state.span,
        f"in this state {_arrival(happening)}",
        secondary=[Label(event.span, "this event")],
        notes=notes,
    )


def _writers(machine: ir.Machine, happening: Happening, notes: list[str]) -> Diagnostic:
    members = {each.name: each for each in machine.states.members}
    states = dict.fromkeys((happening.state, happening.event))
    both = " and ".join(f"`{state}`" for state in states)
    return finding(
        "two-writers",
        f"two machines `{machine.name}` may write the same line at the same time, in {both}",
        happening.span,
        "the last transition of them that could have prevented it",
        secondary=[Label(members[state].span, "may be written in this state") for state in states],
        notes=notes,
    )


def _message(happening: Happening) -> str:
    name = happening.message or happening.event
    return f"`{name}`" if name else "a message"


def _with(happening: Happening) -> str:
    """What the machine looks at, so far as it has a name."""
    if happening.message:
        return f" with `{happening.message}`"
    name, _ = happening.source
    return "" if name.islower() else f" with a message of `{name}`"


def _arrival(happening: Happening) -> str:
    """What brings the event about, and from where."""
    if happening.source == PRESSURE:
        return "another line may need the frame"
    if happening.source == TIMER:
        return "the timer may expire"
    name, number = happening.source
    source = f"the {name}" if name.islower() else f"{name} {number}"
    return f"{_message(happening)} may arrive from {source}"


def _way(happening: Happening) -> str:
    way = happening.way
    shown = "; ".join(str(move) for move in way[-_SHOWN:])
    more = f"(after {len(way) - _SHOWN} transitions) " if len(way) > _SHOWN else ""
    return f"a way there: {more}{shown}"
