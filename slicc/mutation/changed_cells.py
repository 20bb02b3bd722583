"""Which cells of the table a mutant's mistake is in.

Invariant: until one of them is executed for the first time, a mutant does what the original does.
"""

from __future__ import annotations

from slicc import ir
from slicc.mutation.mutant import Mutant


def changed_cells(protocol: ir.Protocol, mutant: Mutant) -> tuple[ir.Cell, ...] | None:
    """Cells of the original; None: the mistake is in what runs outside of transitions as well."""
    place = next(i for i, m in enumerate(protocol.machines) if m.name == mutant.machine)
    old, new = protocol.machines[place], mutant.ir.machines[place]
    if old.functions is not new.functions or old.in_ports is not new.in_ports:
        return None
    changed = _changed_actions(old, new)
    after = {(cell.state, cell.event): new.transitions[cell.transition] for cell in new.cells}
    return tuple(
        cell
        for cell in old.cells
        if after.get((cell.state, cell.event)) != (row := old.transitions[cell.transition])
        or not changed.isdisjoint(row.actions)
    )


def _changed_actions(old: ir.Machine, new: ir.Machine) -> set[ir.ActionRef]:
    if old.actions is new.actions:
        return set()
    return {one.ref for one, other in zip(old.actions, new.actions) if one is not other}
