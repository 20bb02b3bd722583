"""Rows after which a line's state is kept nowhere, so that it does not matter which one they name.

A machine keeps states in its entries and TBEs; `setState` writes into those that there are. This
follows which of the two a line can have in each state. Invariant: everything that can be the case
is found; more may be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from slicc import ir
from slicc.ir.walk import expressions_in, statements_in
from slicc.text.lazy_dataclass import dataclass

_POINTERS: Final = (ir.TransactionField.TBE, ir.TransactionField.ENTRY)
Held = frozenset[ir.TransactionField]
"""Which of TBE and entry a line has."""
_NOTHING: Final[Held] = frozenset()


@dataclass(frozen=True, slots=True)
class _Change:
    """What an action does to one pointer. ``sure``: on every path."""

    sets: bool
    clears: bool
    sure: bool


class StoredStates:
    """Answers for one machine."""

    def __init__(self, machine: ir.Machine) -> None:
        self._machine = machine
        self._actions = {action.ref: action for action in machine.actions}
        self._without = states_without_anything(machine)
        self._stored = _pointers_with_state(machine)
        self._held: dict[str, set[Held]] = {}
        self._explore()

    def forgets(self, state: str, node: ir.Transition) -> bool:
        """Whether nothing holds the line's state after the row, whatever it was before."""
        if self._stored is None or not self._without:
            return False
        return all(
            self._stored.isdisjoint(after)
            for held in self._held.get(state, ())
            for after in self._after(held, node)
        )

    def has_entry(self, state: str, node: ir.Transition, place: int) -> bool:
        """Whether a line in this state surely has an entry when the row's action at this place
        runs."""
        before = replace(node, actions=node.actions[:place])
        return self._stored is not None and all(
            ir.TransactionField.ENTRY in after
            for held in self._held.get(state, ())
            for after in self._after(held, before)
        )

    def _explore(self) -> None:
        if self._stored is None:
            return
        waiting = [(start, _NOTHING) for start in sorted(self._without)]
        rows: dict[str, list[ir.Transition]] = {}
        for cell in self._machine.cells:
            rows.setdefault(cell.state, []).append(self._machine.transitions[cell.transition])
        states = [member.name for member in self._machine.states.members]
        while waiting:
            state, held = waiting.pop()
            known = self._held.setdefault(state, set())
            if held in known:
                continue
            known.add(held)
            for node in rows.get(state, ()):
                for after in self._after(held, node):
                    match node.next:
                        case ir.NextState(kind=ir.NextKind.STATE, state=str(following)):
                            nexts = [following]
                        case ir.NextState(kind=ir.NextKind.COMPUTED):
                            nexts = states
                        case _:
                            nexts = [state]
                    if self._stored.isdisjoint(after):
                        nexts = sorted(self._without)
                    waiting += [(each, after) for each in nexts]

    def _after(self, held: Held, node: ir.Transition) -> set[Held]:
        found = {held}
        if node.stalls:
            return found
        for ref in node.actions:
            for pointer in _POINTERS:
                found = _changed(found, pointer, _change(self._actions[ref].body, pointer))
        return found


def _changed(found: set[Held], pointer: ir.TransactionField, change: _Change) -> set[Held]:
    after: set[Held] = set() if change.sure else set(found)
    for held in found:
        if change.sets:
            after.add(held | {pointer})
        if change.clears:
            after.add(held - {pointer})
    return after


def _change(body: tuple[ir.Stmt, ...], pointer: ir.TransactionField) -> _Change:
    every = [s for s in statements_in(body) if isinstance(s, ir.SetTransaction)]
    every = [s for s in every if s.field is pointer]
    outer = [s for s in _always(body) if s.field is pointer]
    if len(every) == 1 and outer == every:
        sets = every[0].value is not None
        return _Change(sets, not sets, True)
    sets, clears = (any((s.value is None) is cleared for s in every) for cleared in (False, True))
    return _Change(sets, clears, False)


def _always(body: tuple[ir.Stmt, ...]) -> list[ir.SetTransaction]:
    """The settings of the transaction that run whenever the body does."""
    found: list[ir.SetTransaction] = []
    for statement in body:
        match statement:
            case ir.SetTransaction():
                found.append(statement)
            case ir.Peek(body=inner):
                found += _always(inner)
            case ir.Return() | ir.Panic():
                break
            case ir.If() if any(isinstance(s, ir.Return) for s in statements_in((statement,))):
                break
            case _:
                pass
    return found


def _function(machine: ir.Machine, name: str) -> ir.Function | None:
    return next((f for f in machine.functions if f.written_name == name), None)


def states_without_anything(machine: ir.Machine) -> frozenset[str]:
    """What `getState` answers for lines without entry and TBE; empty: that is not known."""
    function = _function(machine, "getState")
    found = function and _answers(function, function.body)
    return found or frozenset()


def _answers(function: ir.Function, body: tuple[ir.Stmt, ...]) -> frozenset[str] | None:
    """The states that a body of `getState` may return if all pointers are null; None: others."""
    found: frozenset[str] = frozenset()
    for statement in body:
        match statement:
            case ir.Return(ir.EnumConst(member=member)):
                return found | {member}
            case ir.If(condition, then, orelse):
                branches = (orelse,) if _needs_pointer(function, condition) else (then, orelse)
                for branch in branches:
                    more = _answers(function, branch)
                    if more is None:
                        return None
                    found |= more
            case ir.Assert() | ir.Trace():
                pass
            case _:
                return None
    return found


def _needs_pointer(function: ir.Function, condition: ir.Expr) -> bool:
    match condition:
        case ir.NullTest(valid=True, operand=ir.Local(name=name)):
            return _is_pointer(function, name)
        case _:
            return False


def _is_pointer(function: ir.Function, name: str) -> bool:
    return any(
        each.name == name and isinstance(each.type, ir.PointerType) for each in function.parameters
    )


def _pointers_with_state(machine: ir.Machine) -> Held | None:
    """Whose TBE or entry a state is written into; None: it is written elsewhere as well."""
    found: set[ir.TransactionField] = set()
    for name in ("setState", "setAccessPermission"):
        function = _function(machine, name)
        if function is None:
            return None
        state = function.parameters[-1].name
        if not _reads(function.body, state):
            continue
        for statement in function.body:
            if isinstance(statement, ir.Assert | ir.Trace) and not _reads((statement,), state):
                continue  # it holds in every state, or in none
            written = _guards(machine, function, statement)
            if written is None:
                return None
            found |= written
    return frozenset(found)


def _reads(body: tuple[ir.Stmt, ...], name: str) -> bool:
    return any(isinstance(node, ir.Local) and node.name == name for node in expressions_in(body))


def _guards(machine: ir.Machine, function: ir.Function, statement: ir.Stmt) -> Held | None:
    """The pointers that a statement does nothing without; None: it may do something anyway."""
    match statement:
        case ir.If(ir.NullTest(valid=True, operand=ir.Local(name=name, type=type_)), _, orelse) if (
            _is_pointer(function, name) and isinstance(type_, ir.PointerType)
        ):
            is_tbe = type_.ref == machine.tbe
            found = {ir.TransactionField.TBE if is_tbe else ir.TransactionField.ENTRY}
            for each in orelse:
                more = _guards(machine, function, each)
                if more is None:
                    return None
                found |= more
            return frozenset(found)
        case _:
            return None
