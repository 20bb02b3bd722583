"""Virtual networks and direct links: what one machine sends, another must receive.

Invariant: only protocols with more than one machine are checked; the partners of a single machine
may be in files that were not compiled.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink


def check_network(protocol: ir.Protocol, sink: DiagnosticSink) -> None:
    """Warn about virtual networks that are written and never read, and about loose ends."""
    if len(protocol.machines) < 2:
        return
    _loose_ends(protocol, sink)
    read: set[int] = set()
    written: dict[int, list[tuple[ir.Machine, ir.MachineParameter]]] = {}
    for machine in protocol.machines:
        for parameter in machine.parameters:
            link = parameter.network
            if link is None or link.virtual_network is None:
                continue
            if link.direction is ir.NetworkDirection.FROM:
                read.add(link.virtual_network)
            else:
                written.setdefault(link.virtual_network, []).append((machine, parameter))
    for number in sorted(written.keys() - read):
        for machine, parameter in written[number]:
            sink.warning(
                "unread-virtual-network",
                f"no machine reads virtual network {number}, "
                f"so what `{parameter.name}` of machine `{machine.name}` sends stays there",
                parameter.span,
                "never delivered",
            )


def _loose_ends(protocol: ir.Protocol, sink: DiagnosticSink) -> None:
    """Buffers with a direction and no virtual network lead from one machine to another."""
    ends = [
        (machine, parameter, parameter.network.direction)
        for machine in protocol.machines
        for parameter in machine.parameters
        if parameter.network is not None and parameter.network.virtual_network is None
    ]
    if len({direction for _, _, direction in ends}) > 1:
        return
    for machine, parameter, direction in ends:
        sink.warning(
            "unconnected-buffer",
            f"`{parameter.name}` of machine `{machine.name}` has no virtual network, and no buffer "
            "of the protocol is the other end of it",
            parameter.span,
            f'`network="{direction.value}"` needs a `virtual_network`',
            help='add `virtual_network="…"`, or say in the system description what it is joined to',
        )
