"""States that no transition enters or leaves, and stalling transitions with actions in vain.

Invariant: a state that code uses counts as reachable, because functions may set it.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.enum_uses import used_members
from slicc.diagnostics.model import DiagnosticSink


def check_transitions(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Unused and unreachable states, dead ends, and stalls with other actions."""
    _states(machine, sink)
    _dead_ends(machine, sink)
    for transition in machine.transitions:
        more = transition.next.kind is not ir.NextKind.STAY or len(transition.actions) > 1
        if transition.stalls and more:
            sink.warning(
                "suspicious-transition",
                "a stalling transition does nothing else",
                transition.span,
                "its other actions and its next state have no effect",
                help="remove them, or remove `z_stall`",
            )


def _dead_ends(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Busy states that some transition enters and none leaves."""
    entered: set[str] = set()
    left: set[str] = set()
    for transition in machine.transitions:
        match transition.next:
            case ir.NextState(ir.NextKind.STATE, str(state)):
                entered.add(state)
                left.update(name for name in transition.states if name != state)
            case ir.NextState(ir.NextKind.COMPUTED):
                left.update(transition.states)
            case _:
                pass
    for member in machine.states.members:
        busy = member.permission is ir.AccessPermission.BUSY
        if busy and member.name in entered and member.name not in left:
            sink.warning(
                "dead-end-state",
                f"no transition of machine `{machine.name}` leaves the state `{member.name}`",
                member.span,
                "busy for ever",
            )


def _states(machine: ir.Machine, sink: DiagnosticSink) -> None:
    left = {state for transition in machine.transitions for state in transition.states}
    entered = {t.next.state for t in machine.transitions if t.next.kind is ir.NextKind.STATE}
    computed = any(t.next.kind is ir.NextKind.COMPUTED for t in machine.transitions)
    used = used_members(machine, machine.states)
    for state in machine.states.members:
        name = state.name
        if name in entered or name in used or name == machine.states.default:
            continue
        if name not in left:
            sink.warning(
                "unused-state",
                f"machine `{machine.name}` never uses the state `{name}`",
                state.span,
                "in no transition and no function",
            )
        elif not computed:
            sink.warning(
                "unreachable-state",
                f"no transition of machine `{machine.name}` leads to the state `{name}`",
                state.span,
                "never entered",
                notes=["no function uses it either, and it is not the default state"],
            )
