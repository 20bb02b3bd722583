"""States of a machine that no run can tell apart: the same rows, and no body names them.

Invariant: two states are called alike only if a line may be taken from one to the other at any time
without a difference to any message or answer.
"""

from __future__ import annotations

from collections.abc import Callable

from slicc import ir
from slicc.ir.walk import expressions_in
from slicc.mutation.reachability import bodies

Alike = Callable[[str, str], bool]
_Row = tuple[object, ...]


def alike_states(machine: ir.Machine) -> Alike:
    """Whether two states, given by name, are alike."""
    classes = _classes(machine)
    return lambda one, other: classes[one] == classes[other]


def _classes(machine: ir.Machine) -> dict[str, int]:
    """The coarsest partition that rows, permissions and bodies respect."""
    named = {
        node.member
        for body in bodies(machine)
        for node in expressions_in(body)
        if isinstance(node, ir.EnumConst) and node.type.ref == machine.states.ref
    }
    members = machine.states.members
    computed = any(node.next.kind is ir.NextKind.COMPUTED for node in machine.transitions)
    keys: dict[str, object] = {
        each.name: each.name if computed or each.name in named else each.permission
        for each in members
    }
    classes = _numbered(keys)
    while True:
        finer = _numbered(
            {name: (classes[name], _rows(machine, name, classes)) for name in classes}
        )
        if len(set(finer.values())) == len(set(classes.values())):
            return finer
        classes = finer


def _rows(machine: ir.Machine, state: str, classes: dict[str, int]) -> frozenset[_Row]:
    found = set()
    for cell in machine.cells:
        if cell.state == state:
            node = machine.transitions[cell.transition]
            after = classes[node.next.state or state]
            found.add((cell.event, node.actions, node.request_types, node.stalls, after))
    return frozenset(found)


def _numbered(keys: dict[str, object]) -> dict[str, int]:
    numbers: dict[object, int] = {}
    return {name: numbers.setdefault(key, len(numbers)) for name, key in keys.items()}
