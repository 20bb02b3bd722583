"""Where mutants of a protocol differ from it: bodies, and rows of the table.

Invariant: putting the differences of one mutant into the original gives that mutant; a mutant that
differs in anything else, or in two machines, is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TypeVar

from slicc import ir
from slicc.text.lazy_dataclass import dataclass

_Item = TypeVar("_Item")
Cell = tuple[str, str]


class NotAVariant(ValueError):
    """A mutant that changes more than bodies and rows of one machine."""


@dataclass(slots=True)
class MachineDifferences:
    """By declaration: the numbers of the mutants that change it, with what they make of it.

    ``rows``: by number of the mutant, cells with another transition, or None without any.
    """

    functions: dict[ir.FunctionRef, list[tuple[int, ir.Function]]] = field(default_factory=dict)
    actions: dict[ir.ActionRef, list[tuple[int, ir.Action]]] = field(default_factory=dict)
    ports: dict[ir.PortRef, list[tuple[int, ir.InPort]]] = field(default_factory=dict)
    rows: dict[int, dict[Cell, ir.Transition | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Differences:
    """``machines``: by name; ``machine_of``: the place of each mutant's machine, from number 1."""

    machines: dict[str, MachineDifferences]
    machine_of: tuple[int, ...]


def differences(protocol: ir.Protocol, mutants: Sequence[ir.Protocol]) -> Differences:
    """Mutant ``number`` is ``mutants[number - 1]``. Raises NotAVariant."""
    machines = {machine.name: MachineDifferences() for machine in protocol.machines}
    places = []
    for number, mutant in enumerate(mutants, 1):
        place = _changed_machine(protocol, mutant)
        machine = protocol.machines[place]
        _compare(machines[machine.name], number, machine, mutant.machines[place])
        places.append(place)
    assert len(places) == len(mutants)
    return Differences(machines, tuple(places))


def _changed_machine(protocol: ir.Protocol, mutant: ir.Protocol) -> int:
    pairs = list(zip(protocol.machines, mutant.machines))
    changed = [place for place, (old, new) in enumerate(pairs) if old is not new]
    alike = replace(mutant, machines=protocol.machines) == protocol
    if not alike or len(changed) != 1 or len(pairs) != len(protocol.machines):
        raise NotAVariant("a mutant must change one machine")
    return changed[0]


def _compare(found: MachineDifferences, number: int, old: ir.Machine, new: ir.Machine) -> None:
    same = replace(
        new,
        functions=old.functions,
        actions=old.actions,
        in_ports=old.in_ports,
        transitions=old.transitions,
        cells=old.cells,
    )
    if same != old:
        raise NotAVariant(f"a mutant of {old.name} changes more than bodies and rows")
    for function, other in _changed(old.functions, new.functions):
        found.functions.setdefault(function.ref, []).append((number, other))
    for action, changed in _changed(old.actions, new.actions):
        found.actions.setdefault(action.ref, []).append((number, changed))
    for port, polled in _changed(old.in_ports, new.in_ports):
        found.ports.setdefault(port.ref, []).append((number, polled))
    before, after = _table(old), _table(new)
    if not set(after) <= set(before):
        raise NotAVariant(f"a mutant of {old.name} adds rows")
    rows = {
        cell: after.get(cell)
        for cell, node in before.items()
        if cell not in after or not _runs_alike(node, after[cell])
    }
    if rows:
        found.rows[number] = rows


def _changed(old: Iterable[_Item], new: Iterable[_Item]) -> Iterable[tuple[_Item, _Item]]:
    old, new = list(old), list(new)
    if len(old) != len(new):
        raise NotAVariant("a mutant adds or removes declarations")
    return [(one, other) for one, other in zip(old, new) if one is not other and one != other]


def _table(machine: ir.Machine) -> dict[Cell, ir.Transition]:
    return {
        (cell.state, cell.event): machine.transitions[cell.transition] for cell in machine.cells
    }


def _runs_alike(one: ir.Transition, other: ir.Transition) -> bool:
    return one is other or replace(other, states=one.states, events=one.events) == one
