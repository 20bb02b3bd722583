"""States that no transition leads to, or leads away from.

Invariant: a state that code mentions counts as reachable, because functions may set it.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.mentions import mentioned_members
from slicc.diagnostics.model import DiagnosticSink


def check_transitions(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Unused and unreachable states."""
    left = {state for transition in machine.transitions for state in transition.states}
    entered = {t.next.state for t in machine.transitions if t.next.kind is ir.NextKind.STATE}
    computed = any(t.next.kind is ir.NextKind.COMPUTED for t in machine.transitions)
    mentioned = mentioned_members(machine, machine.states)
    for state in machine.states.members:
        name = state.name
        if name in entered or name in mentioned or name == machine.states.default:
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
                notes=["no function mentions it either, and it is not the default state"],
            )
