"""Stalled messages that no transition wakes.

Invariant: a transition is reported only if it leads to a state where nothing is under way, so that
no later step of the same transaction can do the waking.
"""

from __future__ import annotations

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, Rule, cells, finding
from slicc.diagnostics.model import Label

_BUSY = frozenset({ir.AccessPermission.BUSY, ir.AccessPermission.BACKING_STORE_BUSY, None})


def _asleep(facts: MachineFacts) -> Findings:
    waiting = _waiting(facts)
    if not waiting or not any(effects.wakes for effects in facts.effects.values()):
        return
    moves = [
        (state, transition)
        for transition in facts.machine.transitions
        if transition.next.kind is ir.NextKind.STATE and not _wakes(facts, transition)
        for state in transition.states
        if state != transition.next.state
    ]
    pending = _carried(facts, waiting, moves)
    reported: set[int] = set()
    for state, transition in moves:
        lost = pending.get(state, {}).keys() - waiting.get(transition.next.state or "", {}).keys()
        if not lost or not _is_stable(facts, transition.next.state) or id(transition) in reported:
            continue
        if waiting.get(transition.next.state or "") or _woken_later(facts, state, transition):
            continue
        reported.add(id(transition))
        event = min(lost)
        yield finding(
            "missed-wakeup",
            f"messages that wait in `{state}` are not woken by the transition for "
            f"{cells([state], transition.events)}",
            transition.span,
            f"leads to `{transition.next.state}`, where nothing is under way",
            secondary=[Label(pending[state][event].span, f"`{event}` waits here")],
            help="wake them with `wakeUpAllBuffers(address)` or `wakeUpBuffers(address)`",
        )


_Waits = dict[str, dict[str, ir.Transition]]


def _waiting(facts: MachineFacts) -> _Waits:
    """By state, the events whose messages wait in it, where a stalling transition leads."""
    found: _Waits = {}
    for transition in facts.machine.transitions:
        if any(effects.waits for _, effects in facts.of(transition)):
            next = transition.next.state
            for state in transition.states if next is None else (next,):
                for event in transition.events:
                    found.setdefault(state, {})[event] = transition
    return found


def _carried(
    facts: MachineFacts, waiting: _Waits, moves: list[tuple[str, ir.Transition]]
) -> _Waits:
    """What may wait in each state, carried along transitions that wake nothing."""
    found = {
        state: dict(events) for state, events in waiting.items() if not _is_stable(facts, state)
    }
    changed = True
    while changed:
        changed = False
        for state, transition in moves:
            if state not in found or _is_stable(facts, transition.next.state):
                continue
            there = found.setdefault(transition.next.state or "", {})
            before = len(there)
            for event, why in found[state].items():
                there.setdefault(event, why)
            changed |= len(there) > before
    return found


def _woken_later(facts: MachineFacts, state: str, transition: ir.Transition) -> bool:
    """Whether what else would wake in ``state`` may still come, and wakes then."""
    table = {
        (cell.state, cell.event): facts.machine.transitions[cell.transition]
        for cell in facts.machine.cells
    }
    return any(
        later is not None and _wakes(facts, each) and _wakes(facts, later)
        for (there, event), each in table.items()
        if there == state
        for later in (table.get((transition.next.state or "", event)),)
    )


def _wakes(facts: MachineFacts, transition: ir.Transition) -> bool:
    return any(effects.wakes for _, effects in facts.of(transition))


def _is_stable(facts: MachineFacts, state: str | None) -> bool:
    member = facts.state_members.get(state or "")
    return member is not None and member.permission not in _BUSY


RULES = (Rule(("missed-wakeup",), _asleep),)
