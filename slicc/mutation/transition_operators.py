"""Mistakes in the table: next states, lists of actions, missing rows.

Invariant: a changed row has the slots that its actions need, as the compiler would count them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from slicc import ir
from slicc.ir.walk import expressions_in, statements_in
from slicc.mutation.mutant import Edit, Mistake, Operator, without_line
from slicc.mutation.transition_text import TransitionText, behind_separator, transition_text
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_STALL = "z_stall"
_OTHER_STATES = 3
"""Wrong next states that are tried besides staying: likely ones first."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One transition of a machine and its text."""

    machine: ir.Machine
    number: int
    node: ir.Transition
    text: TransitionText

    @property
    def place(self) -> str:
        return f"{','.join(self.node.states)}.{','.join(self.node.events)}"

    def mistake(
        self,
        operator: Operator,
        detail: str,
        description: str,
        edit: Edit,
        machine: ir.Machine,
        span: Span | None = None,
    ) -> Mistake:
        where = self.node.span if span is None else span
        return Mistake(
            operator, self.place, detail, where, f"{self.place}: {description}", edit, machine
        )


def transition_mistakes(machine: ir.Machine) -> Iterator[Mistake]:
    """Every mistake in the rows of a machine's table, row by row."""
    rules = _Rules(machine)
    for number, node in enumerate(machine.transitions):
        text = transition_text(node.span)
        if text is None or tuple(s.text for s in text.actions) != tuple(
            action.name for action in node.actions
        ):
            continue
        row = _Row(machine, number, node, text)
        yield from rules.next_states(row)
        yield from rules.dropped(row)
        yield from rules.swapped(row)
        yield from rules.stalls(row)
        yield _removed(row)


class _Rules:
    """What the operators ask about a machine."""

    def __init__(self, machine: ir.Machine) -> None:
        self._machine = machine
        self._needs = {action.ref: action.needs for action in machine.actions}
        self._pops: dict[ir.PortRef, ir.ActionRef] = {}
        self._stalls: dict[ir.PortRef, ir.ActionRef] = {}
        for action in machine.actions:
            match action.body:
                case (ir.Evaluate(ir.PortCall(port, ir.PortOperation.DEQUEUE)),):
                    self._pops.setdefault(port, action.ref)
                case (ir.StallAndWait(port),):
                    self._stalls.setdefault(port, action.ref)
                case _:
                    pass
        self._z_stall = next((a.ref for a in machine.actions if a.ref.name == _STALL), None)
        self._ports = _ports_of_events(machine)

    # -------------------------------------------------------------- rows

    def _with_actions(self, row: _Row, actions: tuple[ir.ActionRef, ...]) -> ir.Machine:
        total: Counter[str] = Counter()
        for action in actions:
            total.update({need.target: need.count for need in self._needs[action]})
        needs = tuple(ir.SlotNeed(name, total[name]) for name in sorted(total))
        stalls = any(action.name == _STALL for action in actions)
        return _with_row(row, replace(row.node, actions=actions, needs=needs, stalls=stalls))

    def next_states(self, row: _Row) -> Iterator[Mistake]:
        """The wrong next state: none, or one that rows of the same event or state lead to."""
        node = row.node
        if node.stalls:
            return
        if node.next.kind is not ir.NextKind.STAY and node.states != (node.next.state,):
            assert row.text.next_state is not None
            cut = Edit(Span(node.span.file, row.text.head, row.text.next_state.end), "")
            machine = _with_row(row, replace(node, next=ir.NextState(ir.NextKind.STAY)))
            was = node.next.state or "*"
            description = f"stays as it is instead of {was}"
            yield row.mistake(Operator.NEXT_STATE, "stay", description, cut, machine)
        for state in self._likely(node)[:_OTHER_STATES]:
            if row.text.next_state is None:
                edit = Edit(Span(node.span.file, row.text.head, row.text.head), f", {state}")
            else:
                edit = Edit(row.text.next_state, state)
            following = ir.NextState(ir.NextKind.STATE, state)
            machine = _with_row(row, replace(node, next=following))
            was = node.next.state or ("*" if node.next.kind is ir.NextKind.COMPUTED else "staying")
            description = f"next state {state} instead of {was}"
            yield row.mistake(Operator.NEXT_STATE, state, description, edit, machine)

    def _likely(self, node: ir.Transition) -> list[str]:
        alike: list[str] = []
        for other in self._machine.transitions:
            if other.next.state is None:
                continue
            near = set(other.events) & set(node.events), set(other.states) & set(node.states)
            if any(near):
                alike.insert(0, other.next.state) if near[0] else alike.append(other.next.state)
        states = [member.name for member in self._machine.states.members]
        right = {node.next.state}
        if len(node.states) == 1:
            right.add(node.states[0])  # that is to stay
        return [each for each in dict.fromkeys([*alike, *states]) if each not in right]

    def dropped(self, row: _Row) -> Iterator[Mistake]:
        actions = row.node.actions
        for place, action in enumerate(actions):
            name = row.text.actions[place]
            edit = without_line(name.file, name.start, behind_separator(name))
            machine = self._with_actions(row, (*actions[:place], *actions[place + 1 :]))
            description = f"{action.name} is missing"
            yield row.mistake(
                Operator.ACTION_DROPPED, action.name, description, edit, machine, name
            )

    def swapped(self, row: _Row) -> Iterator[Mistake]:
        actions = row.node.actions
        for place, (first, second) in enumerate(pairwise(actions)):
            if first == second:
                continue
            here, there = row.text.actions[place : place + 2]
            between = here.file.text[here.end : there.start]
            edit = Edit(here.to(there), f"{second.name}{between}{first.name}")
            swapped = (*actions[:place], second, first, *actions[place + 2 :])
            machine = self._with_actions(row, swapped)
            description = f"{second.name} before {first.name}"
            detail = f"{first.name},{second.name}"
            yield row.mistake(Operator.ACTIONS_SWAPPED, detail, description, edit, machine, here)

    def stalls(self, row: _Row) -> Iterator[Mistake]:
        """A pop in place of a stall, and the reverse."""
        pops = {ref: port for port, ref in self._pops.items()}
        waits = {ref: port for port, ref in self._stalls.items()}
        for place, action in enumerate(row.node.actions):
            instead = None
            operator = Operator.POP_FOR_STALL
            if action in pops:
                operator = Operator.STALL_FOR_POP
                instead = self._stalls.get(pops[action], self._z_stall)
            elif action in waits:
                instead = self._pops.get(waits[action])
            elif action == self._z_stall:
                ports = {self._ports.get(event) for event in row.node.events}
                port = ports.pop() if len(ports) == 1 else None
                instead = None if port is None else self._pops.get(port)
            if instead is None:
                continue
            actions = row.node.actions
            machine = self._with_actions(row, (*actions[:place], instead, *actions[place + 1 :]))
            name = row.text.actions[place]
            description = f"{instead.name} instead of {action.name}"
            yield row.mistake(
                operator, action.name, description, Edit(name, instead.name), machine, name
            )


def _removed(row: _Row) -> Mistake:
    machine = row.machine
    number = row.number
    transitions = (*machine.transitions[:number], *machine.transitions[number + 1 :])
    cells = tuple(
        replace(cell, transition=cell.transition - (cell.transition > number))
        for cell in machine.cells
        if cell.transition != number
    )
    whole = row.text.whole
    edit = without_line(whole.file, whole.start, whole.end)
    changed = replace(machine, transitions=transitions, cells=cells)
    return row.mistake(Operator.TRANSITION_REMOVED, "", "the transition is missing", edit, changed)


def _with_row(row: _Row, node: ir.Transition) -> ir.Machine:
    machine, number = row.machine, row.number
    transitions = (*machine.transitions[:number], node, *machine.transitions[number + 1 :])
    return replace(machine, transitions=transitions)


def _ports_of_events(machine: ir.Machine) -> dict[str, ir.PortRef | None]:
    """The in-port whose body triggers an event; None: several do."""
    found: dict[str, ir.PortRef | None] = {}
    for port in machine.in_ports:
        for event in _triggered(port.body):
            found[event] = None if found.get(event, port.ref) != port.ref else port.ref
    return found


def _triggered(body: tuple[ir.Stmt, ...]) -> Iterable[str]:
    for statement in statements_in(body):
        if isinstance(statement, ir.Trigger):
            for node in expressions_in((statement,)):
                if isinstance(node, ir.EnumConst):
                    yield node.member
