"""Which legs a mutant is run through: those in which the original comes to its mistake.

Invariant: a leg is left out only if the original runs none of the cells that the mistake is in.
"""

from __future__ import annotations

from slicc import ir
from slicc.mutation.changed_cells import changed_cells
from slicc.mutation.mutant import Mutant

Cells = frozenset[tuple[str, int]]
"""Machines and numbers of cells in the tables of counts: state times stride plus event."""


def cells_of(protocol: ir.Protocol, mutant: Mutant) -> Cells | None:
    """The cells that the mistake is in; None: any leg may come to it."""
    machine = next(each for each in protocol.machines if each.name == mutant.machine)
    cells = changed_cells(protocol, mutant)
    if cells is None or any(machine.transitions[cell.transition].stalls for cell in cells):
        return None  # cells that only stall are never counted
    states = {member.name: number for number, member in enumerate(machine.states.members)}
    stride = len(machine.events.members) + 1
    events = {member.name: number for number, member in enumerate(machine.events.members)}
    return frozenset(
        (machine.name, states[cell.state] * stride + events[cell.event]) for cell in cells
    )
