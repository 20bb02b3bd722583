"""Mistakes of authors, made in the IR: each edited machine with the place that was changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.ir.walk import expressions_in, statements_in
from slicc.source import Span

Edit = tuple[ir.Machine, Span]


def _dropped(
    protocol: ir.Protocol, machine: ir.Machine, is_meant: Callable[[MachineFacts, ir.Action], bool]
) -> Iterator[Edit]:
    facts = MachineFacts(protocol, machine)
    meant = {action.ref for action in machine.actions if is_meant(facts, action)}
    for number, transition in enumerate(machine.transitions):
        for place, action in enumerate(transition.actions):
            if action in meant:
                left = transition.actions[:place] + transition.actions[place + 1 :]
                rows = list(machine.transitions)
                rows[number] = replace(transition, actions=left)
                yield replace(machine, transitions=tuple(rows)), transition.span


def _pops(facts: MachineFacts, action: ir.Action) -> bool:
    effects = facts.effects[action.ref]
    return bool(effects.certain_pops) or effects.pops_memory


def _wakes(facts: MachineFacts, action: ir.Action) -> bool:
    return facts.effects[action.ref].wakes and not _pops(facts, action)


def _frees(facts: MachineFacts, action: ir.Action) -> bool:
    return any(
        isinstance(node, ir.CallMethod) and node.method == "deallocate"
        for node in expressions_in(action.body)
    )


def _sends(facts: MachineFacts, action: ir.Action) -> bool:
    return any(isinstance(each, ir.Enqueue) for each in statements_in(action.body))


def _mapped(body: tuple[ir.Stmt, ...], change: Callable[[ir.Stmt], ir.Stmt]) -> tuple[ir.Stmt, ...]:
    made = []
    for each in body:
        match each:
            case ir.If(_, then, orelse):
                each = replace(each, then=_mapped(then, change), orelse=_mapped(orelse, change))
            case ir.Peek(body=inner) | ir.Enqueue(body=inner):
                each = replace(each, body=_mapped(inner, change))
        made.append(change(each))
    return tuple(made)


def _changed(
    machine: ir.Machine, action: ir.Action, new: Callable[[ir.Stmt], ir.Stmt]
) -> ir.Machine:
    actions = (
        replace(each, body=_mapped(each.body, new)) if each is action else each
        for each in machine.actions
    )
    return replace(machine, actions=tuple(actions))


_OTHER = {
    ir.BinaryOperator.ADD: ir.BinaryOperator.SUBTRACT,
    ir.BinaryOperator.SUBTRACT: ir.BinaryOperator.ADD,
}


def wrong_counts(protocol: ir.Protocol, machine: ir.Machine) -> Iterator[Edit]:
    """``+`` for ``-`` in an assignment, and the other way round."""
    for action in machine.actions:
        for spot in statements_in(action.body):
            match spot:
                case ir.Assign(value=ir.Binary(operator)) if operator in _OTHER:

                    def turned(each: ir.Stmt, spot: ir.Stmt = spot) -> ir.Stmt:
                        if each.span != spot.span or not isinstance(each, ir.Assign):
                            return each
                        assert isinstance(each.value, ir.Binary)
                        value = replace(each.value, operator=_OTHER[each.value.operator])
                        return replace(each, value=value)

                    yield _changed(machine, action, turned), spot.span


def swapped_networks(protocol: ir.Protocol, machine: ir.Machine) -> Iterator[Edit]:
    """A message sent through another out-port for messages of its type."""
    networks = {each.name for each in machine.parameters if each.network is not None}
    ports = [port for port in machine.out_ports if port.buffer in networks]
    for action in machine.actions:
        for spot in statements_in(action.body):
            if not isinstance(spot, ir.Enqueue) or spot.port not in {each.ref for each in ports}:
                continue
            for port in ports:
                if port.message == spot.message and port.ref != spot.port:

                    def moved(
                        each: ir.Stmt, spot: ir.Stmt = spot, to: ir.PortRef = port.ref
                    ) -> ir.Stmt:
                        same = isinstance(each, ir.Enqueue) and each.span == spot.span
                        return replace(each, port=to) if same else each

                    yield _changed(machine, action, moved), spot.span
                    break


MISTAKES: dict[str, Callable[[ir.Protocol, ir.Machine], Iterator[Edit]]] = {
    "dropped pop": lambda protocol, machine: _dropped(protocol, machine, _pops),
    "dropped wake-up": lambda protocol, machine: _dropped(protocol, machine, _wakes),
    "dropped free": lambda protocol, machine: _dropped(protocol, machine, _frees),
    "dropped message": lambda protocol, machine: _dropped(protocol, machine, _sends),
    "wrong count": wrong_counts,
    "swapped network": swapped_networks,
}
