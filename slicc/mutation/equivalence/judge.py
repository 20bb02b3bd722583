"""Mutants that no run can tell from the original, by what their text says.

Invariant: a reason is given only where it holds for every system and every program.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.analysis.sent import unsent
from slicc.mutation.changed_cells import changed_cells
from slicc.mutation.equivalence.alike_states import alike_states
from slicc.mutation.equivalence.effects import EffectsOfMachine
from slicc.mutation.equivalence.free_frames import FreeFrames
from slicc.mutation.equivalence.message_readers import told_apart
from slicc.mutation.equivalence.stored_states import StoredStates
from slicc.mutation.equivalence.waiting_messages import WaitingMessages
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.rewriting import sites


class Equivalence:
    """Answers for the mutants of one protocol."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self._protocol = protocol
        self._machines = {machine.name: machine for machine in protocol.machines}
        self._effects = {name: EffectsOfMachine(m) for name, m in self._machines.items()}
        self._waiting = {name: WaitingMessages(m) for name, m in self._machines.items()}
        self._alike = {name: alike_states(m) for name, m in self._machines.items()}
        self._stored = {name: StoredStates(m) for name, m in self._machines.items()}
        self._frames = {
            name: FreeFrames(m, self._stored[name], self._effects[name])
            for name, m in self._machines.items()
        }
        self._unsent = unsent(protocol, self._machines)

    def reason(self, mutant: Mutant) -> str:
        """Why the mutant is equivalent; empty if that is not known."""
        if self._never_runs(mutant):
            return "no machine of the protocol sends what causes the transition"
        match mutant.operator:
            case Operator.ACTIONS_SWAPPED:
                return self._swapped(mutant)
            case Operator.ACTION_DROPPED:
                return self._dropped(mutant)
            case Operator.NEXT_STATE:
                return self._next_state(mutant)
            case Operator.WRONG_TYPE | Operator.DIRTY_BIT | Operator.ACK_COUNT:
                return self._field(mutant)
            case _:
                return ""

    def _never_runs(self, mutant: Mutant) -> bool:
        cells = changed_cells(self._protocol, mutant)
        dead = self._unsent[mutant.machine]
        return cells is not None and all((cell.state, cell.event) in dead for cell in cells)

    def _row(self, mutant: Mutant) -> tuple[ir.Transition, ir.Transition, list[str]]:
        """The changed row before and after, and the states it is for."""
        old = self._machines[mutant.machine]
        new = next(m for m in mutant.ir.machines if m.name == mutant.machine)
        pairs = zip(old.transitions, new.transitions)
        number, one, other = next((i, a, b) for i, (a, b) in enumerate(pairs) if a != b)
        return one, other, [cell.state for cell in old.cells if cell.transition == number]

    def _swapped(self, mutant: Mutant) -> str:
        one, other, states = self._row(mutant)
        effects = self._effects[mutant.machine]
        waiting = self._waiting[mutant.machine].buffers(states, one)
        moved = [a for a, b in zip(one.actions, other.actions) if a != b]
        first, second = (effects.of_action(action, waiting) for action in moved)
        return "the order of the two actions makes no difference" if first.commutes(second) else ""

    def _dropped(self, mutant: Mutant) -> str:
        one, other, states = self._row(mutant)
        kept = (*other.actions, None)
        place = next(i for i, action in enumerate(one.actions) if action != kept[i])
        if self._frames[mutant.machine].free_anyway(states, one, place):
            return "the frame of a line in this state is free in any case"
        effects = self._effects[mutant.machine].of_action(one.actions[place])
        if not effects.only_hints:
            return ""
        return (
            "the action only says which line to replace first, or counts"
            if effects.writes
            else "the action does nothing"
        )

    def _next_state(self, mutant: Mutant) -> str:
        one, other, states = self._row(mutant)
        stored = self._stored[mutant.machine]
        if all(stored.forgets(state, one) for state in states):
            return "nothing holds the line's state after this transition"
        alike = self._alike[mutant.machine]
        if all(alike(one.next.state or state, other.next.state or state) for state in states):
            computed = ir.NextKind.COMPUTED in (one.next.kind, other.next.kind)
            return "" if computed else "the two states have the same rows"
        return ""

    def _field(self, mutant: Mutant) -> str:
        machine = self._machines[mutant.machine]
        found = list(_changed_fields(machine, mutant))
        if len(found) != 1:
            return ""
        message, field, values = found[0]
        if told_apart(self._protocol, machine, message, field, frozenset(values)):
            return ""
        if not values:
            return f"no receiver looks at {field}"
        return f"no receiver tells {values[1]} from {values[0]}"


def _changed_fields(
    machine: ir.Machine, mutant: Mutant
) -> Iterator[tuple[ir.Enqueue, str, tuple[str, ...]]]:
    """The message and the field that are changed; the values before and after, if it is a member
    of an enumeration."""
    new = next(m for m in mutant.ir.machines if m.name == machine.name)
    for old_action, new_action in zip(machine.actions, new.actions):
        if old_action is new_action:
            continue
        for one, other in zip(sites(old_action.body), sites(new_action.body)):
            match one.statement, other.statement:
                case (
                    ir.Assign(target=ir.FieldAccess(receiver=ir.Local(), name=name), value=before),
                    ir.Assign(value=after),
                ) if before != after and one.inside is not None:
                    match before, after:
                        case ir.EnumConst(member=old), ir.EnumConst(member=now):
                            yield one.inside, name, (old, now)
                        case _:
                            yield one.inside, name, ()
                case _:
                    pass
