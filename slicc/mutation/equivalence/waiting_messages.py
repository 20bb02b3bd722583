"""In which buffers messages may wait for a line, by the line's state.

Invariant: everything that can be the case is found; more may be.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir
from slicc.ir.walk import statements_in
from slicc.mutation.equivalence.stored_states import states_without_anything


class WaitingMessages:
    """Answers for one machine."""

    def __init__(self, machine: ir.Machine) -> None:
        buffers = {port.ref: port.buffer for port in machine.in_ports}
        self._stalls: dict[ir.ActionRef, frozenset[str]] = {}
        self._wakes = {each.ref for each in machine.actions if _wakes_line(each.body)}
        self._every: frozenset[str] = frozenset()
        elsewhere = False
        for action in machine.actions:
            stalled = [s for s in statements_in(action.body) if isinstance(s, ir.StallAndWait)]
            self._stalls[action.ref] = frozenset(buffers[s.port] for s in stalled)
            self._every |= self._stalls[action.ref]
            elsewhere |= any(not _is_the_line(s.address) for s in stalled)
        self._found: dict[str, frozenset[str]] = {}
        if elsewhere or _stalls_elsewhere(machine):
            self._found = {m.name: self._every for m in machine.states.members}
        else:
            self._spread(machine)

    def buffers(self, states: Iterable[str], node: ir.Transition) -> frozenset[str]:
        """Where messages may wait when the row's actions run, those that it stalls included."""
        found: frozenset[str] = frozenset()
        for state in states:
            found |= self._found.get(state, frozenset())
        for action in node.actions:
            found |= self._stalls[action]
        return found

    def _spread(self, machine: ir.Machine) -> None:
        states = [member.name for member in machine.states.members]
        self._found = dict.fromkeys(states, frozenset())
        forgotten = sorted(states_without_anything(machine)) or states
        changed = True
        while changed:
            changed = False
            for cell in machine.cells:
                node = machine.transitions[cell.transition]
                after = self._found[cell.state]
                for action in node.actions:
                    after = frozenset() if action in self._wakes else after | self._stalls[action]
                following = [node.next.state or cell.state]
                if node.next.kind is ir.NextKind.COMPUTED:
                    following = states
                # A row that forgets the line leaves it in the state of lines that are not here.
                for state in (*following, *forgotten):
                    if not after <= self._found[state]:
                        self._found[state] |= after
                        changed = True


def _wakes_line(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether the body wakes everything that waits for the line, on every path."""
    for statement in body:
        match statement:
            case ir.Evaluate(ir.CallBuiltin(name="wakeUpAllBuffers", arguments=arguments)):
                return not arguments or _is_the_line(arguments[0])
            case ir.If() | ir.Return():
                return False
            case _:
                pass
    return False


def _stalls_elsewhere(machine: ir.Machine) -> bool:
    """Whether a function or a port stalls messages."""
    found = [function.body for function in machine.functions]
    found += [port.body for port in machine.in_ports]
    return any(isinstance(s, ir.StallAndWait) for body in found for s in statements_in(body))


def _is_the_line(address: ir.Expr) -> bool:
    match address:
        case ir.TransactionValue(field=ir.TransactionField.ADDRESS):
            return True
        case _:
            return False
