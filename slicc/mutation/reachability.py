"""What of a machine a run can reach: rows' actions, and functions from where the runtime starts.

Invariant: what is left out here has no effect on any run.
"""

from __future__ import annotations

from typing import Final

from slicc import ir
from slicc.ir.walk import expressions_in

_CALLED_BY_THE_RUNTIME: Final = frozenset(
    {
        "getState",
        "setState",
        "setAccessPermission",
        "getNextState",
        "checkResourceAvailable",
        "recordRequestType",
    }
)


Declared = ir.Action | ir.InPort | ir.Function
"""What has a body."""


def bodies(machine: ir.Machine) -> list[tuple[ir.Stmt, ...]]:
    """The bodies of all in-ports, actions and functions."""
    found = [port.body for port in machine.in_ports]
    found += [action.body for action in machine.actions]
    return [*found, *(function.body for function in machine.functions)]


def used_actions(machine: ir.Machine) -> frozenset[ir.ActionRef]:
    """The actions of rows that have a cell and do not only stall."""
    rows = [machine.transitions[cell.transition] for cell in machine.cells]
    return frozenset(action for row in rows if not row.stalls for action in row.actions)


def reachable_functions(machine: ir.Machine) -> frozenset[ir.FunctionRef]:
    """Functions of the machine that transitions and ports may call, at first or second hand."""
    functions = {each.ref: each for each in machine.functions}
    actions = used_actions(machine)
    waiting = [
        each.ref for each in machine.functions if each.written_name in _CALLED_BY_THE_RUNTIME
    ]
    for port in machine.in_ports:
        waiting += _called(port.body)
        handlers = (port.resource_stall_handler, port.protocol_stall_handler)
        waiting += [handler for handler in handlers if handler is not None]
    for action in machine.actions:
        if action.ref in actions:
            waiting += _called(action.body)
    found: set[ir.FunctionRef] = set()
    while waiting:
        ref = waiting.pop()
        if ref not in found and ref in functions:
            found.add(ref)
            waiting += _called(functions[ref].body)
    return frozenset(found)


def reachable_declarations(machine: ir.Machine) -> list[Declared]:
    """The actions, in-ports and functions with bodies that a run can reach."""
    actions, functions = used_actions(machine), reachable_functions(machine)
    return [
        *(each for each in machine.actions if each.ref in actions),
        *machine.in_ports,
        *(each for each in machine.functions if each.ref in functions),
    ]


def _called(body: tuple[ir.Stmt, ...]) -> list[ir.FunctionRef]:
    return [node.function for node in expressions_in(body) if isinstance(node, ir.CallFunction)]
