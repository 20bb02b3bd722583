"""Checks of a whole protocol over its IR: each a pass that only reports.

Invariant: a check never changes the protocol, and none depends on another having run.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.dead_code import check_flow
from slicc.check.message_fields import check_messages
from slicc.check.recursion import check_recursion
from slicc.check.stalls import check_waiting
from slicc.check.state_reachability import check_transitions
from slicc.check.unused import check_usage
from slicc.check.virtual_networks import check_network
from slicc.diagnostics.model import DiagnosticSink


def check_protocol(protocol: ir.Protocol, sink: DiagnosticSink) -> None:
    """Run all checks."""
    check_network(protocol, sink)
    check_recursion(protocol.structs, (), "", sink)
    for machine in protocol.machines:
        where = f" of machine `{machine.name}`"
        check_recursion(machine.structs, machine.functions, where, sink)
        check_transitions(machine, sink)
        check_usage(machine, sink)
        check_waiting(machine, sink)
        check_messages(machine, protocol.structs, sink)
        check_flow(machine, sink)
