"""Which states of a machine are transient: the line waits for something.

Two signs, either is enough. The permission of the state says busy; or the state is reached only
with a TBE in hand. The latter is a small data flow over the transition table: the initial state
has no TBE, a transition whose actions end with ``set_tbe`` leads into its next state with one,
one that ends with ``unset_tbe`` without, any other one as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir

_BUSY = (ir.AccessPermission.BUSY, ir.AccessPermission.BACKING_STORE_BUSY)


def transient_states(machine: ir.Machine) -> frozenset[str]:
    """Names of the transient states. Unreachable ones count by their permission alone."""
    holds = _tbe_on_entry(machine)
    return frozenset(
        member.name
        for member in machine.states.members
        if member.permission in _BUSY or holds[member.name] == {True}
    )


def waiting_transitions(machine: ir.Machine) -> frozenset[int]:
    """Indices of transitions that only put the message off: ``z_stall``, waiting, recycling."""
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


def successors(machine: ir.Machine, transition: ir.Transition, state: str) -> tuple[str, ...]:
    """Where a transition may lead from a state; a computed next state may be any."""
    match transition.next.kind:
        case ir.NextKind.STATE:
            assert transition.next.state is not None
            return (transition.next.state,)
        case ir.NextKind.STAY:
            return (state,)
        case ir.NextKind.COMPUTED:
            return tuple(member.name for member in machine.states.members)


def reachable_states(machine: ir.Machine) -> frozenset[str]:
    """States that a chain of transitions reaches from the initial one, itself included."""
    leads: dict[str, set[str]] = {}
    for cell in machine.cells:
        transition = machine.transitions[cell.transition]
        leads.setdefault(cell.state, set()).update(successors(machine, transition, cell.state))
    seen = {machine.states.default}
    waiting = [machine.states.default]
    while waiting:
        for state in leads.get(waiting.pop(), ()):
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return frozenset(seen)


def _tbe_on_entry(machine: ir.Machine) -> dict[str, set[bool]]:
    """Per state, whether a line in it may have (True) and may lack (False) a TBE."""
    holds: dict[str, set[bool]] = {member.name: set() for member in machine.states.members}
    if machine.tbe is None or machine.states.default not in holds:
        return holds
    effects = {action.ref: _effect(action.body) for action in machine.actions}
    results: list[bool | None] = []
    for transition in machine.transitions:
        effect = None
        for ref in transition.actions:
            effect = effects.get(ref) if effects.get(ref) is not None else effect
        results.append(None if transition.stalls else effect)
    leaving: dict[str, list[ir.Cell]] = {}
    for cell in machine.cells:
        leaving.setdefault(cell.state, []).append(cell)
    waiting = [(machine.states.default, False)]
    while waiting:
        state, has = waiting.pop()
        if has in holds[state]:
            continue
        holds[state].add(has)
        for cell in leaving.get(state, ()):
            transition = machine.transitions[cell.transition]
            if transition.stalls:
                continue
            result = results[cell.transition]
            after = has if result is None else result
            waiting += [(target, after) for target in successors(machine, transition, state)]
    return holds


def _effect(body: Iterable[ir.Stmt]) -> bool | None:
    """Whether the statements end with a TBE set (True) or unset (False); None: untouched."""
    effect: bool | None = None
    for statement in body:
        found: bool | None = None
        match statement:
            case ir.SetTransaction(field=ir.TransactionField.TBE, value=value):
                found = value is not None and not isinstance(value, ir.Null)
            case ir.If(then=then, orelse=orelse):
                first, second = _effect(then), _effect(orelse)
                found = second if first is None else first
            case ir.Peek(body=inner) | ir.Enqueue(body=inner):
                found = _effect(inner)
            case _:
                pass
        effect = effect if found is None else found
    return effect
