"""Protocols with one thing changed in their IR."""

from __future__ import annotations

from dataclasses import replace

from slicc import ir


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
