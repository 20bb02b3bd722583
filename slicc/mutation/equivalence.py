"""Mutants that no run can tell from the original, by what their text says.

Invariant: a reason is given only where it holds for every system and every program.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.mutation.effects import EffectsOfMachine
from slicc.mutation.message_readers import told_apart
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.rewriting import sites
from slicc.mutation.stored_states import StoredStates


class Equivalence:
    """Answers for the mutants of one protocol."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self._protocol = protocol
        self._machines = {machine.name: machine for machine in protocol.machines}
        self._effects = {name: EffectsOfMachine(m) for name, m in self._machines.items()}
        self._stored = {name: StoredStates(m) for name, m in self._machines.items()}

    def reason(self, mutant: Mutant) -> str:
        """Why the mutant is equivalent; empty if that is not known."""
        match mutant.operator:
            case Operator.ACTIONS_SWAPPED:
                return self._swapped(mutant)
            case Operator.ACTION_DROPPED:
                return self._dropped(mutant)
            case Operator.NEXT_STATE:
                return self._next_state(mutant)
            case Operator.WRONG_TYPE:
                return self._type(mutant)
            case _:
                return ""

    def _row(self, mutant: Mutant) -> tuple[ir.Transition, ir.Transition, list[str]]:
        """The changed row before and after, and the states it is for."""
        old = self._machines[mutant.machine]
        new = next(m for m in mutant.ir.machines if m.name == mutant.machine)
        pairs = zip(old.transitions, new.transitions)
        number, one, other = next((i, a, b) for i, (a, b) in enumerate(pairs) if a != b)
        return one, other, [cell.state for cell in old.cells if cell.transition == number]

    def _swapped(self, mutant: Mutant) -> str:
        one, other, _ = self._row(mutant)
        effects = self._effects[mutant.machine]
        moved = [a for a, b in zip(one.actions, other.actions) if a != b]
        first, second = (effects.of_action(action) for action in moved)
        return "the order of the two actions makes no difference" if first.commutes(second) else ""

    def _dropped(self, mutant: Mutant) -> str:
        one, other, _ = self._row(mutant)
        kept = list(other.actions)
        gone = next(a for i, a in enumerate(one.actions) if i >= len(kept) or a != kept[i])
        effects = self._effects[mutant.machine].of_action(gone)
        if not effects.only_hints:
            return ""
        return (
            "the action only says which line to replace first"
            if effects.writes
            else "the action does nothing"
        )

    def _next_state(self, mutant: Mutant) -> str:
        one, _, states = self._row(mutant)
        stored = self._stored[mutant.machine]
        if not all(stored.forgets(state, one) for state in states):
            return ""
        return "nothing holds the line's state after this transition"

    def _type(self, mutant: Mutant) -> str:
        machine = self._machines[mutant.machine]
        found = list(_enqueues(machine, mutant))
        if len(found) != 1:
            return ""
        port, field, before, after = found[0]
        if told_apart(self._protocol, machine, port, field, frozenset({before, after})):
            return ""
        return f"no receiver tells {after} from {before}"


def _enqueues(machine: ir.Machine, mutant: Mutant) -> Iterator[tuple[ir.PortRef, str, str, str]]:
    """The port, the field and its values before and after, of the message that was changed."""
    new = next(m for m in mutant.ir.machines if m.name == machine.name)
    for old_action, new_action in zip(machine.actions, new.actions):
        if old_action is new_action:
            continue
        for one, other in zip(sites(old_action.body), sites(new_action.body)):
            match one.statement, other.statement:
                case (
                    ir.Assign(target=ir.FieldAccess(name=name), value=ir.EnumConst(member=before)),
                    ir.Assign(value=ir.EnumConst(member=after)),
                ) if before != after and one.inside is not None:
                    yield one.inside.port, name, before, after
                case _:
                    pass
