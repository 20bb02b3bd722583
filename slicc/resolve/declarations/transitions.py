"""Transitions: names of states, events and actions become references, sets become cells.

Invariant: cells are sorted by state, then event, in order of declaration; each occurs once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.resolve.bodies.suggestions import suggest_action
from slicc.resolve.declarations.actions import Needs, slot_needs
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import TypeSymbol, did_you_mean
from slicc.resolve.scope.uses import NameKind
from slicc.syntax import nodes as syntax
from slicc.text.wording import first_few

STALL_ACTION = "z_stall"

Written = tuple[ir.Transition, syntax.Transition]
"""A transition, and its text."""


def resolve_transitions(
    scope: MachineScope, nodes: list[syntax.Transition], needs: dict[str, Needs]
) -> list[Written]:
    """All transitions as written, but for those of no pair; ``needs`` are those of the actions,
    by name."""
    written = [(_transition(scope, node, needs), node) for node in nodes]
    return [each for each in written if _has_pairs(scope, each[1])]


def _has_pairs(scope: MachineScope, node: syntax.Transition) -> bool:
    """Whether any state and event are named; reported if not: it is nothing, for gem5 too."""
    for what, names in (("states", node.states), ("events", node.events)):
        if not names.names:
            scope.sink.warning(
                "empty-transition",
                f"a transition for no {what} is never run",
                names.span,
                f"no {what}",
                help="name those that it is for, or remove it",
            )
            return False
    return True


def _transition(
    scope: MachineScope, node: syntax.Transition, needs: dict[str, Needs]
) -> ir.Transition:
    context = Label(node.states.span.to(node.events.span), "in this transition")
    states = _members(scope, node.states.names, scope.states, "state", context)
    events = _members(scope, node.events.names, scope.events, "event", context)
    requests: tuple[str, ...] = ()
    if node.requests is not None:
        names = node.requests.names
        requests = _members(scope, names, scope.request_types, "request type", context)
    actions: list[ir.ActionRef] = []
    total: Needs = Counter()
    for name in node.actions.names:
        symbol = scope.actions.get(name.text)
        if symbol is None:
            if not scope.misses.first("action", name.text, name.span):
                continue
            scope.sink.error(
                "unknown-action",
                f"machine `{scope.name}` has no action named `{name.text}`",
                name.span,
                "not declared in this machine",
                secondary=[context],
                help=partial(suggest_action, scope, name.text),
            )
            continue
        scope.note(name.span, symbol.node.name.span, NameKind.ACTION)
        actions.append(symbol.ref)
        total.update(needs.get(name.text, Counter()))
    return ir.Transition(
        states,
        events,
        _next_state(scope, node, context),
        requests,
        tuple(actions),
        slot_needs(total),
        any(action.name == STALL_ACTION for action in actions),
        span=context.span,
    )


def _members(
    scope: MachineScope,
    names: Iterable[syntax.Name],
    symbol: TypeSymbol | None,
    what: str,
    context: Label,
) -> tuple[str, ...]:
    found: list[str] = []
    firsts: dict[str, syntax.Name] = {}
    for name in names:
        if symbol is not None and name.text in symbol.members:
            scope.note(name.span, symbol.members[name.text], NameKind.MEMBER, symbol.type)
            first = firsts.setdefault(name.text, name)
            if first is name or what == "request type":
                found.append(name.text)
            else:
                scope.sink.error(
                    "duplicate-transition",
                    f"the {what} `{name.text}` stands twice in this transition",
                    name.span,
                    "again",
                    secondary=[Label(first.span, "first")],
                )
            continue
        if symbol is None and what != "request type":
            continue  # the missing declaration has been reported
        if not scope.misses.first(what, name.text, name.span):
            continue
        scope.sink.error(
            f"unknown-{what.replace(' ', '-')}",
            f"machine `{scope.name}` has no {what} named `{name.text}`",
            name.span,
            "not declared in this machine",
            secondary=[context],
            help=None if symbol is None else partial(did_you_mean, name.text, symbol.members),
        )
    return tuple(found)


def _next_state(scope: MachineScope, node: syntax.Transition, context: Label) -> ir.NextState:
    name = node.next_state
    if name is None:
        return ir.NextState(ir.NextKind.STAY)
    if name.text == "*":
        if not scope.functions.get("getNextState"):
            scope.sink.error(
                "wildcard-next-state",
                f"the next state is computed, but machine `{scope.name}` has no `getNextState`",
                name.span,
                "computed by `getNextState`",
                help="define `State getNextState(Addr)`",
            )
        return ir.NextState(ir.NextKind.COMPUTED)
    if scope.states is not None and name.text not in scope.states.members:
        scope.sink.error(
            "unknown-next-state",
            f"machine `{scope.name}` has no state named `{name.text}`",
            name.span,
            "not declared in this machine",
            secondary=[context],
            help=partial(did_you_mean, name.text, scope.states.members),
        )
        return ir.NextState(ir.NextKind.STAY)
    if scope.states is not None:
        scope.note(name.span, scope.states.members[name.text], NameKind.MEMBER, scope.states.type)
    return ir.NextState(ir.NextKind.STATE, name.text)


def cells_of(scope: MachineScope, written: list[Written]) -> tuple[ir.Cell, ...]:
    """All (state, event) pairs; two transitions for one pair are reported, the first counts."""
    chosen: dict[tuple[str, str], int] = {}
    for number, (transition, node) in enumerate(written):
        clashes: dict[int, list[str]] = {}
        for state in transition.states:
            for event in transition.events:
                first = chosen.setdefault((state, event), number)
                if first != number:
                    clashes.setdefault(first, []).append(f"({state}, {event})")
        for first, pairs in clashes.items():
            _report_duplicate(scope, node, written[first][1], pairs)
    if scope.states is None or scope.events is None:
        return ()
    state_order = {name: index for index, name in enumerate(scope.states.members)}
    event_order = {name: index for index, name in enumerate(scope.events.members)}
    ordered = sorted(chosen, key=lambda pair: (state_order[pair[0]], event_order[pair[1]]))
    return tuple(ir.Cell(state, event, chosen[state, event]) for state, event in ordered)


def _report_duplicate(
    scope: MachineScope,
    node: syntax.Transition,
    first: syntax.Transition,
    pairs: list[str],
) -> None:
    scope.sink.error(
        "duplicate-transition",
        f"machine `{scope.name}` has two transitions for {first_few(pairs, 4)}",
        node.states.span.to(node.events.span),
        "second one",
        secondary=[Label(first.states.span.to(first.events.span), "first one")],
    )
