"""What is at fault for what walks found, of all that was done before.

Between two rests of a walk much is done, and most of it is right. What was part of everything that
ended badly and of little that ended well is suspect: Ochiai's coefficient, as in fault localization
from the outcomes of tests. Invariant: all walks are counted before one is judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from math import sqrt

from slicc import ir
from slicc.analysis.product.local import Happening, Move
from slicc.analysis.product.machine import Model
from slicc.ir.walk import statements_in
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

Row = tuple[str, int]
"""A machine type, and the number of a transition."""
_USUAL = 3
"""A message arrives at a wrong port if it arrives so many times as often at another one."""


@dataclass(slots=True)
class Outcomes:
    """How often each transition was made before a good rest, and before a bad one."""

    well: Counter[frozenset[Row]] = field(default_factory=Counter)
    badly: Counter[frozenset[Row]] = field(default_factory=Counter)
    arrivals: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    """How often a machine of a type took a kind of message at one of its ports."""

    @property
    def failures(self) -> int:
        """How often something was left at rest."""
        return self.badly.total()

    def count(self, moves: Iterable[Move], good: bool) -> None:
        """Count what was done between two rests."""
        (self.well if good else self.badly)[frozenset(map(row_of, moves))] += 1

    def suspicion(self, rows: Collection[Row]) -> float:
        """From 0 to 1, which are transitions of which all failures have one, and nothing else."""
        failed, well = _having(self.badly, rows), _having(self.well, rows)
        return failed / sqrt(self.failures * (failed + well)) if failed else 0.0


def _having(counted: Counter[frozenset[Row]], rows: Collection[Row]) -> int:
    return sum(times for done, times in counted.items() if not done.isdisjoint(rows))


def row_of(move: Move) -> Row:
    """The transition that was made."""
    return move.machine[0], move.transition


def blamed(
    happenings: Iterable[Happening], outcomes: Outcomes, models: Sequence[Model]
) -> list[Happening]:
    """The happenings, each where the mistake probably is; the surest of what is left first."""
    localisation = _FaultLocalisation(outcomes, {model.type: model for model in models})
    left = [localisation.rest(each) for each in happenings if each.kind == "rest"]
    sure = iter(sorted(left, key=lambda each: each[0], reverse=True))
    return [
        next(sure)[1] if each.kind == "rest" else localisation.unhandled(each)
        for each in happenings
    ]


class _FaultLocalisation:
    """Which transition each happening is blamed on, of those that were made before it."""

    def __init__(self, outcomes: Outcomes, models: dict[str, Model]) -> None:
        self._outcomes = outcomes
        self._models = models
        self._suspicions: dict[Row, float] = {}

    # ------------------------------------------------------------------ what is left at rest

    def rest(self, happening: Happening) -> tuple[float, Happening]:
        """What is left at rest, blamed on the most suspect transition before it."""
        places = range(happening.since, len(happening.way))
        rank = max((*self._suspicion(happening.way[n]), n == happening.at, n) for n in places)
        move = happening.way[rank[-1]]
        machine = self._models[move.machine[0]].machine
        return rank[0], replace(
            happening,
            machine=machine.name,
            state=move.state,
            event=move.event,
            message=move.message,
            span=self._count(move) or machine.transitions[move.transition].span,
        )

    def _suspicion(self, move: Move) -> tuple[float, bool]:
        """How suspect a transition is, and whether it waits for what it has not asked for."""
        row, model = row_of(move), self._models[move.machine[0]]
        if row not in self._suspicions:
            # That a message waits where something is under way is what one sees, not why.
            waits = model.lets_wait(move.transition) and model.busy(move.next)
            self._suspicions[row] = 0.0 if waits else self._outcomes.suspicion({row})
        begins = model.busy(move.next) and not model.busy(move.state)
        return self._suspicions[row], begins and next(self._enqueues(move), None) is None

    def _count(self, move: Move) -> Span | None:
        """Where a transition counts that does nothing else, and leaves the rest to others."""
        model = self._models[move.machine[0]]
        counting = [_counting(action) for action in model.actions_of(move.transition)]
        return None if _moves_on(move) else next((each for each in counting if each), None)

    # ------------------------------------------------------------------ messages at wrong ports

    def unhandled(self, happening: Happening) -> Happening:
        """A message without a transition, blamed on its sender if it usually comes elsewhere."""
        sender = happening.sender
        if happening.kind != "unhandled" or sender is None:
            return happening
        receiver = next(m for m in self._models.values() if m.machine.name == happening.machine)
        here, elsewhere = 0, 0
        for place in range(len(receiver.ports)):
            count = self._outcomes.arrivals[receiver.type, place, happening.message]
            if place == happening.place:
                here = count
            else:
                elsewhere += count
        network = receiver.ports[happening.place].network
        sends = [
            each for each, sent_on in self._enqueues_on(sender) if sent_on == network is not None
        ]
        if not sends or elsewhere < _USUAL * max(1, here):
            return happening
        what = f"{happening.message} to {receiver.machine.name}"
        name = self._models[sender.machine[0]].machine.name
        return replace(happening, kind="misdirected", machine=name, what=what, span=sends[0].span)

    def _enqueues(self, move: Move) -> Iterator[ir.Enqueue]:
        for action in self._models[move.machine[0]].actions_of(move.transition):
            for statement in statements_in(action.body):
                if isinstance(statement, ir.Enqueue):
                    yield statement

    def _enqueues_on(self, move: Move) -> Iterator[tuple[ir.Enqueue, int | None]]:
        model = self._models[move.machine[0]]
        buffers = {port.ref: port.buffer for port in model.machine.out_ports}
        for enqueue in self._enqueues(move):
            link = model.links.get(buffers.get(enqueue.port, ""))
            yield enqueue, None if link is None else link.virtual_network


def _moves_on(move: Move) -> bool:
    return move.state != move.next


def _counting(action: ir.Action) -> Span | None:
    """Where an action counts, if it does."""
    for statement in statements_in(action.body):
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Binary):
            return statement.span
    return None
