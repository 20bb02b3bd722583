"""Replacing one statement or one expression of a body.

Invariant: everything else of the result is the same object as in the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TypeVar

from slicc import ir
from slicc.mutation.reachability import Declared
from slicc.text.lazy_dataclass import dataclass

Body = tuple[ir.Stmt, ...]
_Node = TypeVar("_Node", bound=ir.Node)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Site:
    """A statement within a body; ``inside``: the enqueue around it, if there is one.

    ``put``: the body with other statements in its place. ``names``: of the locals that it may use.
    """

    statement: ir.Stmt
    inside: ir.Enqueue | None
    put: Callable[[Body], Body]
    names: frozenset[str]


def sites(body: Body, names: frozenset[str] = frozenset()) -> Iterator[Site]:
    """Every statement of a body, outer ones before those inside. ``names``: of parameters."""
    return _sites(body, None, lambda changed: changed, names)


def _sites(
    body: Body,
    inside: ir.Enqueue | None,
    put: Callable[[Body], Body],
    names: frozenset[str],
) -> Iterator[Site]:
    for place, statement in enumerate(body):
        before, after = body[:place], body[place + 1 :]

        def here(
            changed: Body,
            before: Body = before,
            after: Body = after,
            put: Callable[[Body], Body] = put,
        ) -> Body:
            return put((*before, *changed, *after))

        yield Site(statement, inside, here, names)
        match statement:
            case ir.If(_, then, orelse):
                for name, block in (("then", then), ("orelse", orelse)):
                    yield from _sites(block, inside, _into(here, statement, name), names)
            case ir.Enqueue(local=local, body=block):
                into = _into(here, statement, "body")
                yield from _sites(block, statement, into, names | {local})
            case ir.Peek(local=local, body=block):
                yield from _sites(block, inside, _into(here, statement, "body"), names | {local})
            case ir.Declare(name=local):
                names |= {local}
            case _:
                pass


def _into(put: Callable[[Body], Body], owner: ir.Stmt, name: str) -> Callable[[Body], Body]:
    def inner(block: Body) -> Body:
        changed: ir.Stmt = replace(owner, **{name: block})  # type: ignore[arg-type]
        return put((changed,))

    return inner


def with_body(machine: ir.Machine, declared: Declared, body: Body) -> ir.Machine:
    """A machine in which an action, a port or a function does something else."""
    match declared:
        case ir.Action():
            action = replace(declared, body=body)
            return replace(machine, actions=_with(machine.actions, declared, action))
        case ir.InPort():
            port = replace(declared, body=body)
            return replace(machine, in_ports=_with(machine.in_ports, declared, port))
        case ir.Function():
            function = replace(declared, body=body)
            return replace(machine, functions=_with(machine.functions, declared, function))


def _with(items: tuple[_Item, ...], item: _Item, other: _Item) -> tuple[_Item, ...]:
    return tuple(other if each is item else each for each in items)


def with_part(root: _Node, part: ir.Expr, other: ir.Expr) -> _Node:
    """A node with one of the expressions below it replaced: the one that is ``part`` itself."""
    changes: dict[str, object] = {}
    for field in fields(root):
        value = getattr(root, field.name)
        changed = _replaced(value, part, other)
        if changed is not value:
            changes[field.name] = changed
    return replace(root, **changes) if changes else root  # type: ignore[arg-type]


def _replaced(value: object, part: ir.Expr, other: ir.Expr) -> object:
    if value is part:
        return other
    if isinstance(value, tuple):
        changed = tuple(_replaced(each, part, other) for each in value)
        same = all(new is old for new, old in zip(changed, value))
        return value if same else changed
    return with_part(value, part, other) if isinstance(value, ir.Node) else value
