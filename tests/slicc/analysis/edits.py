"""Protocols with one thing changed in their IR."""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.source import Span


def with_machine(protocol: ir.Protocol, machine: ir.Machine) -> ir.Protocol:
    """The protocol with another machine of that name."""
    machines = (machine if each.name == machine.name else each for each in protocol.machines)
    return replace(protocol, machines=tuple(machines))


def without_transition(
    protocol: ir.Protocol, machine: ir.Machine, index: int
) -> tuple[ir.Protocol, set[tuple[str, str, str]]]:
    """The protocol without a transition, and the cells that it had."""
    gone = {
        (machine.name, cell.state, cell.event) for cell in machine.cells if cell.transition == index
    }
    cells = tuple(
        replace(cell, transition=cell.transition - (cell.transition > index))
        for cell in machine.cells
        if cell.transition != index
    )
    transitions = (*machine.transitions[:index], *machine.transitions[index + 1 :])
    return with_machine(protocol, replace(machine, transitions=transitions, cells=cells)), gone


def staying(protocol: ir.Protocol, name: str, state: str, event: str) -> tuple[ir.Machine, Span]:
    """A machine that stays in a state where its transition leads to another, and its place."""
    machine = next(each for each in protocol.machines if each.name == name)
    cell = next(each for each in machine.cells if (each.state, each.event) == (state, event))
    rows = list(machine.transitions)
    rows[cell.transition] = replace(rows[cell.transition], next=ir.NextState(ir.NextKind.STAY))
    return replace(machine, transitions=tuple(rows)), rows[cell.transition].span
