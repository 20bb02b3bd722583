"""Whether a line has a TBE or a cache entry in each state, path by path through the transitions.

Invariant: a state counts as having one, or not, only if every way into it agrees; where ways
disagree, the few against the many are reported, and nothing where neither are few.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, Rule, cells, finding
from slicc.diagnostics.model import Label
from slicc.ir.walk import expressions_in, inner_blocks, statements_in

_FEW = 3
"""One way against at least so many is few."""
_TABLES = {ir.TransactionField.TBE: "TBETable", ir.TransactionField.ENTRY: "CacheMemory"}
_NAMES = {ir.TransactionField.TBE: "TBE", ir.TransactionField.ENTRY: "cache entry"}


def _sets(body: tuple[ir.Stmt, ...], which: ir.TransactionField) -> list[bool]:
    """What an action does to the line's record, in order: whether it gives one, or takes it."""
    return [
        statement.value is not None and not isinstance(statement.value, ir.Null)
        for statement in statements_in(body)
        if isinstance(statement, ir.SetTransaction) and statement.field is which
    ]


def _first(facts: MachineFacts) -> list[str]:
    """States of a line of which nothing is kept: those that ``getState`` names, or the default."""
    named = [
        node.member
        for function in facts.machine.functions
        if function.written_name == "getState"
        for statement in statements_in(function.body)
        if isinstance(statement, ir.Return)
        for node in expressions_in((statement,))
        if isinstance(node, ir.EnumConst) and node.type.ref == facts.machine.states.ref
    ]
    return named or [facts.machine.states.default]


def _ports_allocate(facts: MachineFacts, which: ir.TransactionField) -> bool:
    """Whether in-ports give lines records before they trigger: rows do not say who has one."""
    return any(
        isinstance(node, ir.CallMethod)
        and (node.class_name, node.method) == (_TABLES[which], "allocate")
        for port in facts.machine.in_ports
        for body in facts.reached(port.body)
        for node in expressions_in(body)
    )


class _Flow:
    """In which states the line may have a record, and may have none."""

    def __init__(self, facts: MachineFacts, which: ir.TransactionField) -> None:
        self.facts = facts
        self.which = which
        self.sets = {action.ref: _sets(action.body, which) for action in facts.machine.actions}
        self.used = any(self.sets.values()) and not _ports_allocate(facts, which)
        self._last = [_last(transition, self.sets) for transition in facts.machine.transitions]
        self.into: dict[str, dict[int, set[bool]]] = {}
        """By state, the transitions that lead to it, and with what."""
        self.held: dict[str, set[bool]] = {state: {False} for state in _first(facts)}
        if self.used:
            self._solve()

    def _solve(self) -> None:
        every = range(len(self.facts.machine.transitions))
        while sum(self._step(index) for index in every):
            pass

    def _step(self, index: int) -> bool:
        """Take one transition from all that is known; whether that is news."""
        transition, last = self.facts.machine.transitions[index], self._last[index]
        news = False
        for state in transition.states:
            next = self._next(transition, state)
            for before in tuple(self.held.get(state, ())) if next else ():
                after = before if last is None else last
                known = [self.held.setdefault(next, set())]
                if next != state:
                    known.append(self.into.setdefault(next, {}).setdefault(index, set()))
                news |= any(after not in each for each in known)
                for each in known:
                    each.add(after)
        return news

    @staticmethod
    def _next(transition: ir.Transition, state: str) -> str:
        match transition.next:
            case ir.NextState(ir.NextKind.STATE, str(next)):
                return next
            case ir.NextState(ir.NextKind.STAY):
                return state
            case _:
                return ""


def _last(transition: ir.Transition, sets: dict[ir.ActionRef, list[bool]]) -> bool | None:
    """What a transition's last change leaves; None: it changes nothing."""
    return next((sets[each][-1] for each in reversed(transition.actions) if sets[each]), None)


def _records(facts: MachineFacts) -> Findings:
    flows = [flow for which in _NAMES if (flow := _Flow(facts, which)).used]
    for flow in flows:
        for state, ways in flow.into.items():
            yield from _disagreement(facts, flow, state, ways)
    for flow in flows:
        if flow.which is not _ENTRY:
            yield from _twice(facts, flow)
    yield from _uses(facts, flows)


def _disagreement(
    facts: MachineFacts, flow: _Flow, state: str, ways: dict[int, set[bool]]
) -> Findings:
    """Ways into a state of which few keep what the many have freed, or the other way round."""
    keeping = [index for index, held in ways.items() if held == {True}]
    freeing = [index for index, held in ways.items() if held == {False}]
    what = _NAMES[flow.which]
    transitions = facts.machine.transitions
    empty = state in _first(facts)
    if keeping and ((empty and len(keeping) == 1) or len(freeing) >= _FEW * len(keeping)):
        for index in keeping:
            yield finding(
                "kept-record",
                f"the transition for {cells(transitions[index].states, transitions[index].events)} "
                f"leads to `{state}` with a {what}",
                transitions[index].span,
                "does not free it",
                secondary=[
                    Label(transitions[other].span, f"this way there is no {what}")
                    for other in freeing[:1]
                ],
                notes=[f"{len(freeing)} other transitions lead to `{state}` without one"],
            )
    elif freeing and len(keeping) >= _FEW * len(freeing) and flow.which is not _ENTRY:
        for index in freeing:
            yield finding(
                "missing-record",
                f"the transition for {cells(transitions[index].states, transitions[index].events)} "
                f"leads to `{state}` without a {what}",
                transitions[index].span,
                "allocates none, or frees it",
                secondary=[Label(transitions[keeping[0]].span, f"this way there is a {what}")],
                notes=[f"{len(keeping)} other transitions lead to `{state}` with one"],
            )


def _twice(facts: MachineFacts, flow: _Flow) -> Findings:
    if sum(_is_tbe_table(each.type) for each in facts.machine.objects) != 1:
        return
    allocating = {action.ref for action in facts.machine.actions if _allocates(action.body)}
    for transition in facts.machine.transitions:
        held = {before for state in transition.states for before in flow.held.get(state, ())}
        changing = [action for action in transition.actions if flow.sets[action]]
        if held == {True} and changing and changing[0] in allocating:
            yield finding(
                "allocated-twice",
                f"`{changing[0].name}` gives the line a TBE, which it has already "
                f"in {cells(transition.states, transition.events)}",
                transition.span,
                "the first one is lost",
            )


def _is_tbe_table(type: ir.Type) -> bool:
    return isinstance(type, ir.ClassType) and type.name == "TBETable"


def _allocates(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether every run of an action does: a condition may ask whether there is a record."""
    return any(
        isinstance(node, ir.CallMethod)
        and node.method == "allocate"
        and _is_tbe_table(node.receiver.type)
        for statement in _certain(body)
        for node in expressions_in((statement,), nested=False)
    )


def _certain(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """The statements that no condition decides about."""
    for statement in body:
        if not isinstance(statement, ir.If):
            yield statement
            for block in inner_blocks(statement):
                yield from _certain(block)


_ENTRY = ir.TransactionField.ENTRY


def _uses(facts: MachineFacts, flows: list[_Flow]) -> Findings:
    """Fields of a record that is not there in any of the states, or was just freed."""
    reported: set[tuple[ir.ActionRef, str]] = set()
    for flow in flows:
        which, what = flow.which, _NAMES[flow.which]
        needing = {action.ref: _needs(action.body, which) for action in facts.machine.actions}
        for transition in facts.machine.transitions:
            known = [flow.held.get(state, set()) for state in transition.states]
            there: bool | None = None
            if known and all(held == {False} for held in known):
                there = False
            freed = ""
            for action in transition.actions:
                if needing[action] and there is False and (action, what) not in reported:
                    reported.add((action, what))
                    after = f" after `{freed}` has freed it" if freed else ", and there is none"
                    yield finding(
                        "record-used-without",
                        f"`{action.name}` uses the line's {what}{after} "
                        f"in {cells(transition.states, transition.events)}",
                        transition.span,
                        "in this transition",
                    )
                for gives in flow.sets[action]:
                    there, freed = gives, "" if gives else action.name


def _needs(body: tuple[ir.Stmt, ...], which: ir.TransactionField) -> bool:
    """Whether every run of an action uses a field of the record before anything else may set it."""
    for statement in body:
        if isinstance(statement, ir.SetTransaction) and statement.field is which:
            return False
        if isinstance(statement, ir.If):
            return False
        inner = statements_in((statement,))
        if any(isinstance(each, ir.If | ir.SetTransaction) for each in inner):
            return False
        if _mentions(statement, which):
            return True
    return False


def _mentions(statement: ir.Stmt, which: ir.TransactionField) -> bool:
    return any(
        isinstance(node, ir.FieldAccess)
        and isinstance(node.receiver, ir.TransactionValue)
        and node.receiver.field is which
        for node in expressions_in((statement,))
    )


RULES = (
    Rule(("kept-record", "missing-record", "allocated-twice", "record-used-without"), _records),
)
