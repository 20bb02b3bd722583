"""The states of a machine and the transitions between them, as a graph of networkx.

Pictures and tables are made from it, and other questions are algorithms of networkx on it:
``nx.shortest_path(graph, "I", "M")`` is a path into M, ``nx.strongly_connected_components(graph)``
the states that can be left and entered again.

A state is transient if a line in it waits for a message. Either of two signs is enough: its
permission is ``Busy``, or it is reached only with a TBE.

Invariant: the same machine gives the same graph, nodes and edges in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import networkx as nx

from slicc import ir

_BUSY = (ir.AccessPermission.BUSY, ir.AccessPermission.BACKING_STORE_BUSY)


class StateAttributes(TypedDict):
    """Attributes of a node; the node itself is the name of the state."""

    desc: str
    permission: ir.AccessPermission | None
    initial: bool
    transient: bool
    reachable: bool
    """Whether a chain of transitions leads here from the initial state (or none is needed)."""


class TransitionAttributes(TypedDict):
    """Attributes of an edge; the key of the edge is the name of the event."""

    transition: ir.Transition
    put_off: bool
    """The message only waits: ``z_stall``, ``stall_and_wait``, recycling."""


def state_graph(machine: ir.Machine) -> nx.MultiDiGraph[str]:
    """A node per state with :class:`StateAttributes`, in the order of their declaration.

    An edge per state and event with :class:`TransitionAttributes`, the event being its key. What
    keeps the state is an edge from it to itself; a computed next state may be any state, and has
    an edge to each.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=machine.name)
    graph.add_nodes_from(member.name for member in machine.states.members)
    waiting = waiting_transitions(machine)
    for cell in machine.cells:
        attributes = TransitionAttributes(
            transition=machine.transitions[cell.transition], put_off=cell.transition in waiting
        )
        for target in _targets(machine, cell):
            graph.add_edge(cell.state, target, key=cell.event, **attributes)
    initial = machine.states.default
    reachable = _reachable(graph, initial)
    only_with_tbe = _only_with_tbe(machine)
    for member in machine.states.members:
        state = StateAttributes(
            desc=member.desc,
            permission=member.permission,
            initial=member.name == initial,
            transient=member.permission in _BUSY or member.name in only_with_tbe,
            reachable=member.name in reachable,
        )
        graph.add_node(member.name, **state)
    return graph


def _reachable(graph: nx.MultiDiGraph[str], initial: str) -> set[str]:
    """States to which transitions lead; all if none leaves the initial one: then functions set the
    state that a line begins in, and what follows from that is not in the table."""
    if initial not in graph or not graph.out_degree(initial):
        return set(graph)
    return nx.descendants(graph, initial) | {initial}


def waiting_transitions(machine: ir.Machine) -> frozenset[int]:
    """Indices of transitions that only delay the message: ``z_stall``, waiting, recycling."""
    waiting = {action.ref for action in machine.actions if _puts_off(action.body)}
    return frozenset(
        index
        for index, transition in enumerate(machine.transitions)
        if transition.stalls
        or (
            transition.next.kind is ir.NextKind.STAY
            and any(ref in waiting for ref in transition.actions)
        )
    )


def _puts_off(body: Iterable[ir.Stmt]) -> bool:
    for statement in body:
        match statement:
            case ir.StallAndWait():
                return True
            case ir.Evaluate(expression=ir.PortCall(operation=ir.PortOperation.RECYCLE)):
                return True
            case _:
                pass
    return False


def _targets(machine: ir.Machine, cell: ir.Cell) -> tuple[str, ...]:
    """Where a transition may lead from a state."""
    following = machine.transitions[cell.transition].next
    match following.kind:
        case ir.NextKind.STATE:
            assert following.state is not None
            return (following.state,)
        case ir.NextKind.STAY:
            return (cell.state,)
        case ir.NextKind.COMPUTED:
            return tuple(member.name for member in machine.states.members)


def _only_with_tbe(machine: ir.Machine) -> set[str]:
    """States that a line is in only while it has a TBE.

    The graph has two nodes per state, with a TBE and without. The initial state has none; actions
    that end with ``set_tbe`` lead to the one node of the next state, those that end with
    ``unset_tbe`` to the other, and any other transition keeps what there was.
    """
    effects = {action.ref: _effect(action.body) for action in machine.actions}
    start = (machine.states.default, False)
    flow: nx.DiGraph[tuple[str, bool]] = nx.DiGraph()
    flow.add_node(start)
    for cell in machine.cells:
        transition = machine.transitions[cell.transition]
        if transition.stalls:
            continue
        effect = _last(effects.get(ref) for ref in transition.actions)
        for before in (False, True):
            after = before if effect is None else effect
            for target in _targets(machine, cell):
                flow.add_edge((cell.state, before), (target, after))
    reached = nx.descendants(flow, start) | {start}
    return {state for state, has in reached if has and (state, False) not in reached}


def _effect(body: Iterable[ir.Stmt]) -> bool | None:
    """Whether the statements end with a TBE set (True) or unset (False); None: untouched."""
    return _last(map(_effect_of, body))


def _effect_of(statement: ir.Stmt) -> bool | None:
    match statement:
        case ir.SetTransaction(field=ir.TransactionField.TBE, value=value):
            return value is not None and not isinstance(value, ir.Null)
        case ir.If(then=then, orelse=orelse):
            return _last((_effect(orelse), _effect(then)))
        case ir.Peek(body=inner) | ir.Enqueue(body=inner):
            return _effect(inner)
        case _:
            return None


def _last(effects: Iterable[bool | None]) -> bool | None:
    known = [effect for effect in effects if effect is not None]
    return known[-1] if known else None
