"""Fields of entries and TBEs that only decide what is counted for statistics.

Invariant: a field is one of these only if every body that reads it writes nothing but hints and the
field itself, and cannot fail by what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slicc import ir
from slicc.ir.walk import expressions_in, statements_in
from slicc.mutation.equivalence.resources import ENTRY, EVERYTHING, HINT, RECORD, Effects, Resource


def counted_fields(
    machine: ir.Machine, effects: Mapping[ir.ActionRef, Effects]
) -> frozenset[Resource]:
    """As `Effects` has them."""
    outside = set(_named_outside_of_actions(machine))
    written = {each for found in effects.values() for each in found.writes}
    return frozenset(
        field
        for field in written
        if field[0] in (ENTRY, RECORD)
        and field[1] != "*"
        and field[1] not in outside
        and all(
            _only_counts(action.body, effects[action.ref], field)
            for action in machine.actions
            if _reads(effects[action.ref], field)
        )
    )


def _named_outside_of_actions(machine: ir.Machine) -> Iterator[str]:
    for body in (*(f.body for f in machine.functions), *(p.body for p in machine.in_ports)):
        for node in expressions_in(body):
            if isinstance(node, ir.FieldAccess):
                yield node.name


def _reads(effects: Effects, field: Resource) -> bool:
    known = {field, (field[0], "*")}
    return EVERYTHING in effects.writes or not known.isdisjoint(effects.reads | effects.adds)


def _only_counts(body: tuple[ir.Stmt, ...], effects: Effects, field: Resource) -> bool:
    may_fail = any(
        isinstance(s, ir.Assert | ir.Panic | ir.CheckAllocate) for s in statements_in(body)
    )
    others = {each for each in effects.writes if each[0] != HINT and each != field}
    return not (may_fail or others or effects.adds)
