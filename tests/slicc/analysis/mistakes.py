"""Mistakes of authors by kind: those of ``gpu-tester mutate``, and messages on other networks.

Each is an edited protocol with the place that was changed; of an action that a transition lacks
that is the transition, whose line is the one that stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.ir.walk import expressions_in, statements_in
from slicc.mutation.equivalence.judge import Equivalence
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.mutants import mutants
from slicc.source import Span
from tests.slicc.analysis.edits import with_machine

Edit = tuple[ir.Protocol, Span]


def mistakes(protocol: ir.Protocol) -> dict[str, list[Edit]]:
    """Every mistake of the kinds that the analysis is for, but for those without effect."""
    equivalence = Equivalence(protocol)
    facts = {machine.name: MachineFacts(protocol, machine) for machine in protocol.machines}
    found: dict[str, list[Edit]] = defaultdict(list)
    for mutant in mutants(protocol):
        kind, span = _kind_and_place(facts[mutant.machine], mutant)
        if kind and not equivalence.reason(mutant):
            found[kind].append((mutant.ir, span))
    for machine in protocol.machines:
        found["swapped network"] += swapped_networks(protocol, machine)
    return dict(found)


def _kind_and_place(facts: MachineFacts, mutant: Mutant) -> tuple[str, Span]:
    match mutant.operator:
        case Operator.ACK_COUNT:
            return "wrong count", mutant.span
        case Operator.ACTION_DROPPED:
            name, row = mutant.span.text, _row_of(facts.machine, mutant.span)
            action = next(each for each in facts.machine.actions if each.ref.name == name)
            return next((kind for kind, is_meant in _DROPPED if is_meant(facts, action)), ""), row
        case _:
            return "", mutant.span


def _row_of(machine: ir.Machine, span: Span) -> Span:
    """The transition around a place."""
    before = [
        each.span
        for each in machine.transitions
        if each.span.file == span.file and each.span.start <= span.start
    ]
    return max(before, key=lambda each: each.start)


def _pops(facts: MachineFacts, action: ir.Action) -> bool:
    effects = facts.effects[action.ref]
    return bool(effects.certain_pops) or effects.pops_memory


def _wakes(facts: MachineFacts, action: ir.Action) -> bool:
    return facts.effects[action.ref].wakes


def _frees(facts: MachineFacts, action: ir.Action) -> bool:
    return any(
        isinstance(node, ir.CallMethod) and node.method == "deallocate"
        for node in expressions_in(action.body)
    )


def _sends(facts: MachineFacts, action: ir.Action) -> bool:
    return any(isinstance(each, ir.Enqueue) for each in statements_in(action.body))


_DROPPED = (
    ("dropped pop", _pops),
    ("dropped wake-up", _wakes),
    ("dropped free", _frees),
    ("dropped message", _sends),
)


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

                    yield with_machine(protocol, _changed(machine, action, moved)), spot.span
                    break


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
