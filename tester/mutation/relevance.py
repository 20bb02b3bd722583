"""Which cells of the table a mutant's mistake is in; a leg that runs none of them is left out.

Until its mistake runs for the first time a mutant does what the original does. Invariant: a leg is
left out only if the original runs none of the cells in it.
"""

from __future__ import annotations

from slicc import ir
from slicc.mutation.mutant import Mutant

Cells = frozenset[tuple[str, int]]
"""Machines and numbers of cells in the tables of counts: state times stride plus event."""


def cells_of(protocol: ir.Protocol, mutant: Mutant) -> Cells | None:
    """The cells that the mistake is in; None: any leg may come to it."""
    place = next(i for i, m in enumerate(protocol.machines) if m.name == mutant.machine)
    old, new = protocol.machines[place], mutant.ir.machines[place]
    if old.functions is not new.functions or old.in_ports is not new.in_ports:
        return None
    changed = _changed_actions(old, new)
    states = {member.name: number for number, member in enumerate(old.states.members)}
    events = {member.name: number for number, member in enumerate(old.events.members)}
    after = {(cell.state, cell.event): new.transitions[cell.transition] for cell in new.cells}
    found = set()
    for cell in old.cells:
        node = old.transitions[cell.transition]
        other = after.get((cell.state, cell.event))
        if other == node and changed.isdisjoint(node.actions):
            continue
        if node.stalls:
            return None  # such a cell is never counted
        number = states[cell.state] * (len(events) + 1) + events[cell.event]
        found.add((old.name, number))
    return frozenset(found)


def _changed_actions(old: ir.Machine, new: ir.Machine) -> set[ir.ActionRef]:
    if old.actions is new.actions:
        return set()
    return {one.ref for one, other in zip(old.actions, new.actions) if one is not other}
