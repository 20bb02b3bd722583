"""Which fields of a message need an object of their own, after a statement of it was changed.

Invariant: the answer is the compiler's: fields of mutable value types that are changed in place
before they are assigned as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slicc import ir
from slicc.ir.walk import direct_expressions, inner_blocks
from slicc.mutation.rewriting import Body, sites

Structs = Mapping[ir.TypeRef, ir.Struct]


def with_fresh_fields(body: Body, structs: Structs) -> Body:
    """The body, with ``fresh`` of every enqueue counted anew."""
    found = True
    while found:
        found = False
        for site in sites(body):
            message = site.statement
            if isinstance(message, ir.Enqueue) and message.message in structs:
                fresh = _fresh(message, structs[message.message])
                if fresh != message.fresh:
                    body = site.put((replace(message, fresh=fresh),))
                    found = True
                    break
    return body


def _fresh(message: ir.Enqueue, struct: ir.Struct) -> tuple[str, ...]:
    mutable = frozenset(
        each.name
        for each in struct.fields
        if isinstance(each.type, ir.ClassType) and each.type.value and not each.type.immutable
    )
    fields = _Fields(message.local, mutable)
    fields.block(message.body)
    return tuple(each.name for each in struct.fields if each.name in fields.fresh)


class _Fields:
    """``owned``: assigned or given an object on every path so far; ``maybe``: on some path."""

    def __init__(self, local: str, mutable: frozenset[str]) -> None:
        self._local = local
        self._mutable = mutable
        self._owned: set[str] = set()
        self._maybe: set[str] = set()
        self.fresh: set[str] = set()

    def block(self, body: Body) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: ir.Stmt) -> None:
        match statement:
            case ir.Assign(target=target):
                self._assigned(target)
            case ir.If(_, then, orelse):
                before = set(self._owned)
                self.block(then)
                after = self._owned
                self._owned = before
                self.block(orelse)
                self._owned = (self._owned & after) | self.fresh
                return
            case _:
                pass
        for node in direct_expressions(statement):
            self._changed(node)
        for inner in inner_blocks(statement):
            self.block(inner)

    def _field(self, node: ir.Expr) -> tuple[str, bool] | None:
        """The field of the message that an expression is (part of); whether it is all of it."""
        whole = True
        while isinstance(node, ir.FieldAccess):
            if isinstance(node.receiver, ir.Local) and node.receiver.name == self._local:
                return (node.name, whole) if node.name in self._mutable else None
            node, whole = node.receiver, False
        return None

    def _assigned(self, target: ir.Expr) -> None:
        found = self._field(target)
        if found is None:
            return
        name, whole = found
        if not whole:
            self._in_place(name)
            return
        if name in self._maybe and name not in self._owned:
            self.fresh.add(name)
        self._owned.add(name)
        self._maybe.add(name)

    def _in_place(self, name: str) -> None:
        if name not in self._owned:
            self.fresh.add(name)
            self._owned.add(name)

    def _changed(self, node: ir.Expr) -> None:
        if isinstance(node, ir.CallMethod) and node.mutates:
            found = self._field(node.receiver)
            if found is not None:
                self._in_place(found[0])
