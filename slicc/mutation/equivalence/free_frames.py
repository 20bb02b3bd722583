"""Actions that free the frame of a line whose next state counts as free.

An entry with the permission NotPresent is not found by any look at its cache, and its way is given
to the next line. So it makes no difference whether the frame is freed before the line gets into a
state with this permission. The replacement policy is only asked for a victim where all ways are
taken, and by then the way was touched again: LRU and a tree's bits are the same then. Invariant:
only what is seen to have this form is called free.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from slicc import ir
from slicc.ir.walk import statements_in
from slicc.mutation.equivalence.effects import EffectsOfMachine
from slicc.mutation.equivalence.entries_found import caches_of_transitions, uncast
from slicc.mutation.equivalence.resources import ENTRY, HINT, Effects
from slicc.mutation.equivalence.stored_states import StoredStates, states_without_anything

_ENTRY: Final = ir.TransactionField.ENTRY


class FreeFrames:
    """Answers for one machine."""

    def __init__(
        self, machine: ir.Machine, stored: StoredStates, effects: EffectsOfMachine
    ) -> None:
        self._stored = stored
        self._effects = effects
        self._bodies = {action.ref: action.body for action in machine.actions}
        self._cache = _cache(machine)
        self._free = _free_state(machine)

    def free_anyway(self, states: Iterable[str], node: ir.Transition, place: int) -> bool:
        """Whether the row's action at this place frees a frame that is free after the row."""
        return (
            self._cache is not None
            and node.next.kind is ir.NextKind.STATE
            and node.next.state == self._free
            and _frees(self._bodies[node.actions[place]], self._cache)
            and not any(self._looks(action) for action in node.actions[place + 1 :])
            and all(
                self._stored.forgets(state, node) and self._stored.has_entry(state, node, place)
                for state in states
            )
        )

    def _looks(self, action: ir.ActionRef) -> bool:
        """Whether it makes a difference to the action that the frame is there."""
        found = self._effects.of_action(action)
        here = {("pointer", _ENTRY.value), ("object", str(self._cache)), (ENTRY, "*")}
        return (HINT, self._cache) in found.writes or not found.commutes(Effects(writes=here))


def _frees(body: tuple[ir.Stmt, ...], cache: str) -> bool:
    match body:
        case (
            ir.Evaluate(
                ir.CallMethod(
                    receiver=ir.MachineObject(name=name),
                    method="deallocate",
                    arguments=(ir.TransactionValue(field=ir.TransactionField.ADDRESS),),
                )
            ),
            ir.SetTransaction(field=ir.TransactionField.ENTRY, value=None),
        ):
            return name == cache
        case _:
            return False


def _free_state(machine: ir.Machine) -> str | None:
    """The state of lines without an entry, if one with an entry is as good as none there."""
    without = states_without_anything(machine)
    hidden = {
        state.name
        for state in machine.states.members
        if state.permission is ir.AccessPermission.NOT_PRESENT
    }
    plain = _stores_only(machine) and _follows_the_state(machine)
    return next(iter(without)) if len(without) == 1 and without <= hidden and plain else None


def _function(machine: ir.Machine, name: str) -> ir.Function | None:
    return next((f for f in machine.functions if f.written_name == name), None)


def _stores_only(machine: ir.Machine) -> bool:
    """Whether `setState` does nothing but to write into the entry or the TBE."""
    function = _function(machine, "setState")
    return function is not None and all(
        isinstance(each, ir.If)
        or (
            isinstance(each, ir.Assign)
            and isinstance(each.target, ir.FieldAccess)
            and isinstance(each.target.receiver, ir.Local)
            and isinstance(each.value, ir.Local | ir.EnumConst)
        )
        for each in statements_in(function.body)
    )


def _follows_the_state(machine: ir.Machine) -> bool:
    """Whether an entry always has the permission of its state."""
    function = _function(machine, "setAccessPermission")
    match function and function.body:
        case (
            ir.If(
                ir.NullTest(valid=True, operand=ir.Local(name=tested)),
                (
                    ir.Evaluate(
                        ir.CallMethod(
                            receiver=ir.Local(name=changed),
                            method="changePermission",
                            arguments=(ir.StateToPermission(operand=ir.Local(name=state)),),
                        )
                    ),
                ),
                (),
            ),
        ):
            return (
                tested == changed
                and function is not None
                and (function.parameters[-1].name == state)
            )
        case _:
            return False


def _cache(machine: ir.Machine) -> str | None:
    """The cache that the entry of every transition is of, under the transition's address."""
    caches = caches_of_transitions(machine)
    if caches is None or len(caches) != 1 or any(_peeks_twice(p.body) for p in machine.in_ports):
        return None
    [name] = caches
    lookups = frozenset(each.ref for each in machine.functions if _is_lookup(each, name))
    found = all(_is_found(p.body, each, lookups) for p in machine.in_ports for each in _triggers(p))
    made = all(
        _is_made(each.value, name)
        for action in machine.actions
        for each in statements_in(action.body)
        if isinstance(each, ir.SetTransaction) and each.field is _ENTRY and each.value is not None
    )
    return name if found and made else None


def _peeks_twice(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether one message is looked at within another, so that a name may stand for both."""
    peeks = (each for each in statements_in(body) if isinstance(each, ir.Peek))
    return any(isinstance(s, ir.Peek) for peek in peeks for s in statements_in(peek.body))


def _triggers(port: ir.InPort) -> list[ir.Trigger]:
    return [each for each in statements_in(port.body) if isinstance(each, ir.Trigger)]


def _is_lookup(function: ir.Function, cache: str) -> bool:
    """Whether it returns the entry that the cache has for its parameter."""
    match function.body:
        case (ir.Return(value),):
            match uncast(value):
                case ir.CallMethod(
                    receiver=ir.MachineObject(name=name),
                    method="lookup",
                    arguments=(ir.Local(name=asked),),
                ):
                    return name == cache and [p.name for p in function.parameters] == [asked]
    return False


def _is_found(
    body: tuple[ir.Stmt, ...], trigger: ir.Trigger, lookups: frozenset[ir.FunctionRef]
) -> bool:
    """Whether the trigger's entry is looked up under its address."""
    if trigger.entry is None:
        return True
    match _value(body, trigger.entry):
        case ir.CallFunction(function=ref, arguments=(asked,)):
            address = _value(body, trigger.address)
            # A local that is assigned may have changed since the entry was looked up.
            at_once = not isinstance(trigger.entry, ir.Local) or not isinstance(address, ir.Local)
            return ref in lookups and at_once and _value(body, asked) == address
        case _:
            return False


def _value(body: tuple[ir.Stmt, ...], expression: ir.Expr) -> ir.Expr:
    """What a local stands for that is declared once and never changed."""
    if not isinstance(expression, ir.Local):
        return expression
    declared = [
        each.initial
        for each in statements_in(body)
        if isinstance(each, ir.Declare) and each.name == expression.name
    ]
    changed = any(
        isinstance(each, ir.Assign) and each.target == expression for each in statements_in(body)
    )
    return expression if changed or len(declared) != 1 else _value(body, declared[0])


def _is_made(value: ir.Expr, cache: str) -> bool:
    match uncast(value):
        case ir.CallMethod(
            receiver=ir.MachineObject(name=name),
            method="allocate",
            arguments=(ir.TransactionValue(field=ir.TransactionField.ADDRESS), ir.NewEntry()),
        ):
            return name == cache
        case _:
            return False
