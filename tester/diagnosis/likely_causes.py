"""From a symptom to its likely causes. Not verdicts: each states what it is concluded from."""

from __future__ import annotations

from typing import Any, Final

from runtime.controller.source_location import transition_location
from runtime.errors import EXTERNAL, ProtocolError
from runtime.requesters.port import AccessKind
from tester.diagnosis.events.history import HeldBack
from tester.diagnosis.events.system_inspection import (
    controller_name,
    messages_about,
    transitions_of,
)
from tester.diagnosis.value_attribution import judge_bytes, misplaced_from
from tester.execution.events import Finding, Role, Verdict
from tester.program.program import Program

_PLACES: Final = 8
"""Of transitions on the same event that a report shows."""


def likely_causes(finding: Finding, program: Program, system: Any) -> list[str]:
    """A line or two on the usual causes of this symptom; empty when there is none."""
    verdict = finding.verdict
    if verdict in (Verdict.STALE_READ, Verdict.LOST_WRITE):
        return _stale(finding, program, system)
    if verdict in (Verdict.TORN_BYTES, Verdict.FOREIGN_BYTES):
        return _mixed(finding, program)
    if verdict is Verdict.HANG:
        return _hang(finding, program, system)
    if is_external(finding):
        return [
            "not the protocol, but what it calls is missing: give the function a body in a prelude "
            "file (--prelude FILE, docs/bring-your-own.md)"
        ]
    usual = _USUAL.get(verdict)
    return [usual] if usual else []


def is_external(finding: Finding) -> bool:
    """Whether not the protocol has failed, but what it calls has no body."""
    return finding.verdict is Verdict.PANIC and EXTERNAL in finding.headline


def went_on(controller: Any, held: HeldBack) -> str:
    """An in-port goes on behind a trigger that could not be carried out, as in gem5."""
    kind = type(controller)
    row = kind.TRANSITIONS[held.state, held.event]
    why = "`z_stall`" if row.stalls else "no slot or resource was free"
    return (
        f"before that, the same in-port triggered {kind.EVENTS.name_of(held.event)} in "
        f"{kind.STATES.name_of(held.state)}, which was held back ({why}), and went on with what "
        f"stands behind that trigger [{transition_location(kind, held.state, held.event)}]"
    )


def elsewhere(controller: Any, error: ProtocolError) -> list[str]:
    """Where a machine handles the event that it has no transition for here, and what else it
    handles in this state."""
    on_event: dict[str, list[str]] = {}
    in_state: dict[str, list[str]] = {}
    for state, event, place in transitions_of(type(controller)):
        if event == error.event:
            on_event.setdefault(place, []).append(state)
        elif state == error.state:
            in_state.setdefault(place, []).append(event)
    return [
        *_places(f"{error.event} is handled in", on_event),
        *_places(f"{error.state} handles", in_state),
    ]


def _places(start: str, names: dict[str, list[str]]) -> list[str]:
    shown = [f"{', '.join(each)} [{place}]" for place, each in names.items()]
    more = [f"{len(shown) - _PLACES} more"] if len(shown) > _PLACES else []
    return [f"{start} {'; '.join(shown[:_PLACES] + more)}"] if shown else []


_USUAL = {
    Verdict.EARLY_WRITE: "a store became visible before its episode may run: bytes stored through "
    "a wrong address or mask, or a response that answers an older request with newer data",
    Verdict.ATOMIC_REPEATED: "two agents added to one old copy, or an addition was lost: an atomic "
    "performed on a stale copy, or its result overwritten by a write-back",
    Verdict.ATOMIC_FOREIGN: "not a wrong sum but wrong bytes: uninitialised data, another word's "
    "bytes, or a merge over the atomic word",
    Verdict.ATOMIC_SKIPPED: "an addition was performed twice: at two levels, or after a retry",
    Verdict.ATOMIC_ORDER: "an addition was performed on an old copy, after newer ones had returned",
    Verdict.EARLY_RELEASE: "the requester counted a store as complete that was not",
    Verdict.UNEXPECTED_RESPONSE: "a callback for a request that was already answered: a message "
    "sent twice, or a response that found the wrong transaction",
    Verdict.UNDEFINED_TRANSITION: "the pair is missing, or the event should have been stalled; "
    "the rows before it show how the state was reached",
    Verdict.LEAK: "a path through the transitions above frees or wakes up nothing",
}


def _stale(finding: Finding, program: Program, system: Any) -> list[str]:
    if _own_store(finding, program):
        return [
            "the wave's own earlier store is not in what it loads: a hit on a copy that the store "
            "did not update or drop, or a request that overtook another on its way"
        ]
    copies = getattr(system, "copies", None)
    if copies is None or not finding.size:
        return []
    offset = finding.address & program.line_size - 1
    mask = (1 << 8 * finding.size) - 1
    fresh, old = [], []
    kinds = set()
    for copy in copies(finding.address):
        if copy.data is None:
            continue
        value = copy.data >> 8 * offset & mask
        if value == finding.expected:
            fresh.append(copy.where)
        elif value == finding.got:
            old.append(copy.where)
            kinds.add(copy.kind)
    if not fresh:
        return [
            "no copy holds the expected bytes any more: a lost write-through, a dirty victim that "
            "was dropped, or a fill that overwrote the store"
        ]
    text = [f"expected bytes in {', '.join(fresh[:6])}"]
    if old:
        text[0] += f"; the wrong ones in {', '.join(old[:6])}"
    if not old:
        text.append(
            "no old copy is left: the reader was answered with data that left its source before "
            "the write (a fill in flight across the acquire?)"
        )
    elif kinds == {"memory"}:
        text.append("memory is behind the caches, and the reader was answered from memory")
    else:
        text.append(
            "an old copy outlived the store: not invalidated by the acquire or by the write, or "
            "filled late by data that left before the write"
        )
    return text


def _own_store(finding: Finding, program: Program) -> bool:
    """Whether the bytes that are missing were stored by the reading episode itself."""
    request = finding.request
    if request is None or request.row < 0 or request.role == Role.READ_BACK:
        return False
    verdicts = judge_bytes(program, finding.address, finding.size, finding.got, request.row)
    own = set(program.actions_of(request.episode))
    return any(not v.right and v.expected.row in own for v in verdicts)


def _mixed(finding: Finding, program: Program) -> list[str]:
    at_end = finding.request is None or finding.request.role == Role.READ_BACK
    row = None if at_end or finding.request is None else finding.request.row
    verdicts = judge_bytes(program, finding.address, finding.size, finding.got, row)
    origin = misplaced_from(program, verdicts)
    if origin is not None:
        return [
            f"the bytes are those of {origin:#x}: a wrong offset or shift where lines are merged"
        ]
    if finding.verdict is Verdict.TORN_BYTES:
        return ["only part of one store arrived: a byte mask lost or cut where lines are merged"]
    return ["the bytes were never stored there: uninitialised data, or a merge without a mask"]


def _hang(finding: Finding, program: Program, system: Any) -> list[str]:
    request = finding.request
    if request is None:
        return ["messages go round without end: two controllers that keep retrying each other"]
    if request.kind == AccessKind.STORE and "completion" in finding.headline:
        return [
            "the store was accepted and its completion never came: an acknowledgement sent to the "
            "wrong place, dropped, or counted wrongly"
        ]
    blocked = _behind_others(finding.address & -program.line_size, program.line_size, system)
    if blocked is not None:
        return [
            f"head-of-line blocking: {blocked}. If the head waits for something that waits behind "
            "it, here or in another controller's queue, nothing ever moves: z_stall on this queue "
            "needs stall_and_wait, or another virtual network"
        ]
    if request.kind >= AccessKind.ACQUIRE:
        return ["a synchronisation waits for lines or stores that never finish; see below them"]
    return ["a lost wake-up, a dropped message or a missing response on the line shown above"]


def _behind_others(line: int, line_size: int, system: Any) -> str | None:
    """A description of a message about the line that waits behind another one."""
    for controller in system.controllers:
        for waiting in messages_about(controller, line, line_size):
            if waiting.behind >= 0:
                return f"{controller_name(controller)} has a {waiting}"
    return None
