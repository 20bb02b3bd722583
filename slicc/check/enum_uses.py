"""Which enumeration members a machine's code uses.

Invariant: transitions are not code; a member that only they name is unused.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.ir.walk import expressions_in


def bodies_of(machine: ir.Machine) -> Iterator[tuple[ir.Stmt, ...]]:
    """Every body of the machine."""
    for function in machine.functions:
        yield function.body
    for port in machine.in_ports:
        yield port.body
    for action in machine.actions:
        yield action.body
    for struct in machine.structs:
        for method in struct.methods:
            yield method.body


def used_members(machine: ir.Machine, enum: ir.Enum_) -> set[str]:
    """Members of ``enum`` that occur in a body or in a field's default."""
    found: set[str] = set()
    for body in bodies_of(machine):
        for node in expressions_in(body):
            if isinstance(node, ir.EnumConst) and node.type.ref == enum.ref:
                found.add(node.member)
    for struct in machine.structs:
        for field in struct.fields:
            default = field.default
            if isinstance(default, ir.EnumConst) and default.type.ref == enum.ref:
                found.add(default.member)
    return found
