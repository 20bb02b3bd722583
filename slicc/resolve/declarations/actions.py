"""Actions: their names, their bodies, and the free slots they may need.

Invariant: an action's needs are the exact sum over everything that one run may reach: both
branches of every ``if``, nested enqueues, and the functions it calls.
"""

from __future__ import annotations

from collections import Counter

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.ir.walk import expressions_in
from slicc.resolve.bodies.bodies import action_body
from slicc.resolve.scope.pairs import check_keys, description
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import ActionSymbol
from slicc.syntax import nodes as syntax

Needs = Counter[str]


def declare_actions(scope: MachineScope, nodes: list[syntax.Action]) -> None:
    """Enter the names of all actions; display names must differ too."""
    shorts: dict[str, syntax.Action] = {}
    for node in nodes:
        check_keys(node.pairs, scope.sink)
        name = node.name.text
        first = scope.actions.get(name)
        if first is not None:
            scope.sink.declared_twice(
                "duplicate-action",
                f"machine `{scope.name}` declares the action `{name}` twice",
                node.name.span,
                first.node.name.span,
            )
            continue
        scope.actions[name] = ActionSymbol(name, node, ir.ActionRef(scope.name, name))
        short = node.pairs.get("short") or name
        other = shorts.setdefault(short, node)
        if other is not node:
            pair = node.pairs.find("short")
            scope.sink.error(
                "duplicate-short-name",
                f"the actions `{other.name.text}` and `{name}` are both shown as `{short}`",
                node.name.span if pair is None else pair.value_span,
                "taken already",
                secondary=[Label(other.name.span, "by this action")],
            )


def resolve_actions(scope: MachineScope) -> tuple[ir.Action, ...]:
    """All actions, without needs (the functions they call may not be resolved yet)."""
    found = []
    for symbol in scope.actions.values():
        node = symbol.node
        body = action_body(scope, node)
        short = node.pairs.get("short") or symbol.name
        found.append(
            ir.Action(symbol.ref, short, description(node.pairs), body, span=node.name.span)
        )
    return tuple(found)


class NeedCounter:
    """Slots that running statements once may take, by machine object.

    ``functions`` have callees first, so each is counted when its callees are known.
    """

    def __init__(self, scope: MachineScope, functions: tuple[ir.Function, ...]) -> None:
        self._buffers = {
            port.ref: port.buffer.name for port in scope.ports.values() if port.buffer is not None
        }
        self._functions: dict[ir.FunctionRef, Needs] = {}
        for function in functions:
            needs = self.of(function.body)
            if needs:
                self._functions[function.ref] = needs

    def of(self, statements: tuple[ir.Stmt, ...]) -> Needs:
        """The sum over some statements."""
        total: Needs = Counter()
        self._add(statements, total)
        return total

    def _add(self, statements: tuple[ir.Stmt, ...], total: Needs) -> None:
        for statement in statements:
            match statement:
                case ir.Enqueue(port=port, body=body):
                    if port in self._buffers:
                        total[self._buffers[port]] += 1
                    self._add(body, total)
                case ir.Peek(body=body):
                    self._add(body, total)
                case ir.If(_, then, orelse):
                    self._add(then, total)
                    self._add(orelse, total)
                case ir.CheckAllocate(target):
                    total[target] += 1
                case _:
                    pass
        if not self._functions:
            return
        for node in expressions_in(statements, nested=False):
            if isinstance(node, ir.CallFunction) and node.function in self._functions:
                total.update(self._functions[node.function])


def slot_needs(needs: Needs) -> tuple[ir.SlotNeed, ...]:
    """Needs in the order a controller checks them: by name."""
    return tuple(ir.SlotNeed(name, needs[name]) for name in sorted(needs))
