"""Walks through what can happen to one line.

A moment is what each machine holds of the line and which messages are under way. There are some
of each machine that a processor or a DMA engine drives and one of each other; a channel keeps the
order of one sender. A processor asks for one thing at a time; another line may want the frame at
any time. A walk draws what comes next, asks for nothing new now and then until nothing moves, and
looks at what is left. Walks met more cells than a search by breadth at the same price
(MESI_Two_Level, 20,000 steps: 194 of 200 against 146), because what is rare lies deep.

Invariant: a happening that is reported has a way there on which every condition was known. One
line, few machines and channels that keep order are a part of what a real system does, so what is
not reported may still happen. The same protocol gives the same walks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from slicc.analysis.product.local import (
    PRESSURE,
    PROCESSOR,
    TIMER,
    Attempt,
    Channel,
    Happening,
    Held,
    Machines,
    Memory,
    Move,
    Outcome,
)
from slicc.analysis.product.machine import Feeds, Model
from slicc.analysis.product.suspects import Outcomes
from slicc.analysis.product.values import LINE, OTHER_LINE
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_ASKED: Final = {Feeds.PROCESSOR: ("LD", "ST", "IFETCH"), Feeds.DMA: ("LD", "ST")}
_LONGEST: Final = 6
"""Messages of one sender in one channel; what would make it longer is not followed."""
_POLLS: Final = 1_000
"""Runs of ports, which are what a search costs, after which no further walk begins."""
_QUIET: Final = 2
"""Walks in a row that meet nothing new, after which none begins."""
_MORE: Final = 3
"""How much further walks go once something was left at rest, to see what is at fault."""
_WALK: Final = 200
_BURST: Final = 100
"""Draws between two rests of a walk, at most."""
_REST: Final = 400
"""Deliveries after which a system that asks for nothing new is given up."""
_ASKING: Final = 5
"""Of eight draws, how many ask for something; the others deliver a message."""
_OUTSIDE: Final = (PROCESSOR, PRESSURE, TIMER)
_LEFT: Final = ("waiting", "unanswered", "kept")
"""What may be left at rest: of several the first, from which the others often follow."""
_MASK: Final = (1 << 64) - 1

SYSTEMS: Final = (2, 3)
"""How many there are of each machine that a processor or a DMA engine drives."""

Channels = dict[Channel, tuple[int, ...]]
T = TypeVar("T")


class Draws:
    """SplitMix64: the same draws on every machine and version."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound`` - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % bound

    def one_of(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]


@dataclass(slots=True)
class Findings:
    """What walks found."""

    happenings: list[Happening] = field(default_factory=list)
    met: set[tuple[str, str, str]] = field(default_factory=set)
    """Each (machine type, state, event) that was asked for."""
    unmodelled: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    moves: int = 0
    outcomes: Outcomes = field(default_factory=Outcomes)

    @property
    def news(self) -> tuple[int, int, int]:
        """How much was met and found so far."""
        return len(self.met), len(self.happenings), self.outcomes.failures


@dataclass(slots=True)
class _Walk:
    held: list[int]
    channels: Channels = field(default_factory=dict)
    way: list[Move] = field(default_factory=list)
    causes: list[int] = field(default_factory=list)
    """By move, the move that sent its message; -1: it came from outside or was woken."""
    senders: dict[Channel, tuple[int, ...]] = field(default_factory=dict)
    """By channel, the moves that sent its messages."""
    left: dict[Channel, int] = field(default_factory=dict)
    """By channel, the last move that looked at the head and left it there."""
    states: dict[int, int] = field(default_factory=dict)
    """By machine, its last move to another state."""
    since: int = 0
    """The first move after the last rest."""
    guessed: bool = False
    """An unknown condition is on the way: this may be no moment of a real system."""
    doubtful: bool = False
    """Something could not be followed: what is left at rest says nothing."""


class Met(Exception):
    """Something went wrong in walks that were to show whether anything does."""


class Exploration:
    """Walks; :meth:`run` adds to what was found.

    ``memory``: of other walks with as many machines. ``strict``: the first happening raises Met.
    """

    def __init__(
        self,
        models: Sequence[Model],
        driven: int,
        memory: Memory | None = None,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._machines = Machines(models, driven, Memory() if memory is None else memory)
        self._noted: set[int] = set()
        self._nodes = self._machines.nodes
        self._timed = [index for index, (model, _) in enumerate(self._nodes) if model.timers]
        self._reported: set[Happening] = set()
        self._samples: dict[tuple[int, int], dict[str, int]] = {}
        self._none = self._machines.messages.of(None)
        self._draws = Draws(driven)

    def run(self, steps: int, found: Findings) -> None:
        """Walk until so many messages were looked at."""
        if not any(model.asked for model, _ in self._nodes):
            return  # nothing begins a transaction
        start, first = self._machines.start(), found.steps
        quiet = 0
        while quiet < _QUIET:
            more = _MORE if found.outcomes.failures else 1
            limit = first + more * steps
            if found.steps >= limit or self._machines.polls >= more * _POLLS:
                break
            known = found.news
            self._walk(_Walk(list(start)), found, limit)
            quiet = quiet + 1 if found.news == known else 0
        found.unmodelled += self._machines.unmodelled

    def _walk(self, walk: _Walk, found: Findings, limit: int) -> None:
        while len(walk.way) < _WALK and found.steps < limit:
            before = found.steps
            for _ in range(1 + self._draws.below(_BURST)):
                self._draw(walk, found)
            if not self._settle(walk, found) or found.steps == before:
                return

    # ------------------------------------------------------------------ moves

    def _draw(self, walk: _Walk, found: Findings) -> None:
        if walk.channels and self._draws.below(8) >= _ASKING:
            channel = self._draws.one_of(sorted(walk.channels))
            self._try(walk, found, channel, walk.channels[channel][0], False)
            return
        wishes = self._wishes(walk, self._draws.below(len(self._nodes)))
        if wishes:
            channel, message, fresh = self._draws.one_of(wishes)
            self._try(walk, found, channel, message, fresh)

    def _wishes(self, walk: _Walk, index: int) -> list[tuple[Channel, int, bool]]:
        """What a machine's processor, a timer or another line may ask of it."""
        model, _ = self._nodes[index]
        held: Held = self._machines.held[walk.held[index]]
        wishes: list[tuple[Channel, int, bool]] = []
        for place in model.asked:
            channel = (index, place, PROCESSOR)
            if not held.asked and channel not in walk.channels:
                port = model.ports[place]
                wishes += [
                    (channel, self._machines.request(index, port, kind, LINE), True)
                    for kind in _ASKED[port.feeds]
                ]
        if model.making_room and model.holds(held.tables):
            for place in model.making_room:
                channel = (index, place, PRESSURE)
                wishes += [(channel, message, False) for message in self._others(index, place)]
        return wishes + self._timers(index, held)

    def _timers(self, index: int, held: Held) -> list[tuple[Channel, int, bool]]:
        model, _ = self._nodes[index]
        if not model.timers:
            return []
        tables = dict(held.tables)
        places = [place for place in model.timers if tables[model.ports[place].buffer]]
        return [((index, place, TIMER), self._none, False) for place in places]

    def _others(self, index: int, place: int) -> list[int]:
        """Messages for another line that a port may have to make room for."""
        port = self._nodes[index][0].ports[place]
        if port.feeds is Feeds.PROCESSOR:
            kinds = ("LD", "IFETCH")
            return [self._machines.request(index, port, kind, OTHER_LINE) for kind in kinds]
        return list(self._samples.get((index, place), {}).values())

    def _try(
        self, walk: _Walk, found: Findings, channel: Channel, message: int, fresh: bool
    ) -> bool:
        """Let a machine look at a message; whether it made a transition."""
        index = channel[0]
        attempt = self._machines.attempt(channel, walk.held[index], message, fresh)
        found.steps += 1
        self._note(walk, found, attempt, channel, message)
        if not attempt.outcomes:
            return False
        outcome = attempt.outcomes[0]
        if len(attempt.outcomes) > 1:
            outcome = self._draws.one_of(attempt.outcomes)
        after = _after(walk.channels, channel, message, outcome, fresh)
        if after is None:
            walk.doubtful = True
            return False
        walk.guessed |= outcome.guessed
        walk.held[index], walk.channels = outcome.held, after
        _remember(walk, channel, outcome, fresh)
        found.moves += 1
        if channel[2] not in _OUTSIDE:
            kind = outcome.move.message
            found.outcomes.arrivals[self._nodes[index][0].type, channel[1], kind] += 1
        if outcome.move.state != outcome.move.next:
            walk.states[index] = len(walk.way) - 1
            self._look_at_writers(walk, found, index)
        return True

    def _look_at_writers(self, walk: _Walk, found: Findings, index: int) -> None:
        """Report another machine of the type that may write the line, too."""
        model, move = self._nodes[index][0], walk.way[-1]
        if walk.guessed or walk.doubtful or move.next not in model.writing:
            return
        for other, number in walk.states.items():
            state = walk.way[number].next
            if other != index and self._nodes[other][0] is model and state in model.writing:
                asked = [
                    each
                    for each in walk.way[number + 1 :]
                    if each.machine == self._nodes[other][1] and each.source not in _OUTSIDE
                ]
                blamed = asked[-1] if asked else move
                first, second = sorted((move.next, state))
                where = (first, second, blamed.machine, blamed.message, "", self._span(blamed))
                self._report(found, Happening("writers", model.machine.name, *where), walk)

    def _note(
        self, walk: _Walk, found: Findings, attempt: Attempt, channel: Channel, message: int
    ) -> None:
        index, place, _ = channel
        if not walk.guessed and id(attempt) not in self._noted:
            self._noted.add(id(attempt))
            found.met |= attempt.looked
            for happening, unsure in attempt.happenings:
                if not unsure:
                    self._report(found, self._blamed(happening, channel, walk), walk)
        walk.doubtful |= attempt.doubtful
        model = self._nodes[index][0]
        if place in model.making_room and model.ports[place].feeds is Feeds.NETWORK:
            kind = self._machines.kind(message)
            samples = self._samples.setdefault((index, place), {})
            if kind not in samples:
                samples[kind] = self._machines.elsewhere(message)

    def _blamed(self, happening: Happening, channel: Channel, walk: _Walk) -> Happening:
        """The happening, or the earlier transition that left its message at the head."""
        if channel not in walk.left:
            sender = walk.senders.get(channel, (-1,))[0]
            return replace(happening, sender=walk.way[sender]) if sender >= 0 else happening
        move = walk.way[walk.left[channel]]
        return Happening(
            "left",
            happening.machine,
            move.state,
            move.event,
            move.source,
            move.message,
            span=self._span(move),
        )

    def _span(self, move: Move) -> Span:
        machine = self._model(move.machine).machine
        return machine.transitions[move.transition].span

    def _model(self, me: tuple[str, int]) -> Model:
        return next(model for model, each in self._nodes if each == me)

    # ------------------------------------------------------------------ rest

    def _settle(self, walk: _Walk, found: Findings) -> bool:
        """Deliver until nothing moves; whether the walk is to go further."""
        for _ in range(_REST):
            if not self._deliver_any(walk, found):
                break
        else:
            return False
        if walk.guessed or walk.doubtful:
            return True
        return self._look(walk, found)

    def _deliver_any(self, walk: _Walk, found: Findings) -> bool:
        choices = [(channel, walk.channels[channel][0]) for channel in sorted(walk.channels)]
        for index in self._timed:
            held = self._machines.held[walk.held[index]]
            choices += [(channel, none) for channel, none, _ in self._timers(index, held)]
        first = self._draws.below(len(choices)) if choices else 0
        for channel, message in (*choices[first:], *choices[:first]):
            before = walk.held[channel[0]], walk.channels
            moved = self._try(walk, found, channel, message, False)
            if moved and before != (walk.held[channel[0]], walk.channels):
                return True
        return False

    def _look(self, walk: _Walk, found: Findings) -> bool:
        """Nothing under way moves: what still waits, waits until something else is asked for."""
        left = next(self._lefts(walk), None)
        found.outcomes.count(walk.way[walk.since :], good=left is None)
        if left is not None:
            self._report_rest(found, *left, walk)
            return False
        walk.since = len(walk.way)
        return True

    def _lefts(self, walk: _Walk) -> Iterator[tuple[str, int]]:
        for what in _LEFT:
            for index, number in enumerate(walk.held):
                if self._is_left(what, index, self._machines.held[number], walk):
                    yield what, index

    def _is_left(self, what: str, index: int, held: Held, walk: _Walk) -> bool:
        match what:
            case "waiting":
                return bool(held.waiting)
            case "unanswered":
                return held.asked
            case _:
                return not walk.channels and self._nodes[index][0].keeps(held.tables)

    def _report_rest(self, found: Findings, what: str, index: int, walk: _Walk) -> None:
        model, me = self._nodes[index]
        own = [number for number, move in enumerate(walk.way) if move.machine == me]
        changing = [number for number in own if walk.way[number].state != walk.way[number].next]
        if not own:
            return
        at = (changing or own)[-1]
        if what != "kept" and model.busy(walk.way[at].next):
            at = self._end_of_wait(walk, self._begin_of_wait(model, walk, changing))
        for channel in walk.left.keys() & walk.channels.keys():
            if self._nodes[channel[0]][1] == walk.way[at].machine:
                at = walk.left[channel]
        move = walk.way[at]
        name = self._model(move.machine).machine.name
        where = (move.state, move.event, me, move.message, what, self._span(move))
        self._report(found, Happening("rest", name, *where, at=at), walk)

    def _begin_of_wait(self, model: Model, walk: _Walk, changing: list[int]) -> int:
        """The last of a machine's moves from a state that waits for nothing."""
        begins = [number for number in changing if not model.busy(walk.way[number].state)]
        return (begins or changing)[-1]

    def _end_of_wait(self, walk: _Walk, begin: int) -> int:
        """Where what a machine asked for got lost, or where it began to wait without asking: if
        all that followed was the answer to another machine, which has what it wants."""
        end, cause = walk.way[_last_effect(walk, begin)], walk.causes[begin]
        answered = (
            cause >= 0
            and end.machine == walk.way[cause].machine
            and not self._model(end.machine).busy(end.next)
        )
        return begin if answered else _last_effect(walk, begin)

    def _report(self, found: Findings, happening: Happening, walk: _Walk) -> None:
        if self._strict:
            raise Met
        key = replace(happening, source=(happening.source[0], 0), message="")
        if key not in self._reported:
            self._reported.add(key)
            found.happenings.append(replace(happening, way=tuple(walk.way), since=walk.since))


def _remember(walk: _Walk, channel: Channel, outcome: Outcome, fresh: bool) -> None:
    """Note what a move comes from and which messages are its own."""
    number = len(walk.way)
    walk.way.append(outcome.move)
    senders = walk.senders
    if fresh:
        senders[channel] = (-1,)
    walk.causes.append(senders.get(channel, (-1,))[0])
    if channel[2] in (PRESSURE, TIMER):
        pass
    elif outcome.head == "kept":
        walk.left[channel] = number
    else:
        head, *rest = senders[channel]
        after = tuple(rest) if outcome.head == "popped" else (*rest, head)
        senders[channel] = after
        if not after:
            del senders[channel]
        walk.left.pop(channel, None)
    for key, _ in outcome.woken:
        senders[key] = (-1, *senders.get(key, ()))
        walk.left.pop(key, None)
    for key, _ in outcome.sent:
        senders[key] = (*senders.get(key, ()), number)


def _last_effect(walk: _Walk, root: int) -> int:
    """The last move that follows from a move by the messages that it and its followers sent."""
    following = {root}
    for number in range(root + 1, len(walk.way)):
        if walk.causes[number] in following:
            following.add(number)
    return max(following)


def _after(
    before: Channels, channel: Channel, message: int, outcome: Outcome, fresh: bool
) -> Channels | None:
    """The channels after a move; None if one gets too long."""
    channels = dict(before)
    if fresh:
        channels[channel] = (message,)
    if channel[2] not in (PRESSURE, TIMER) and outcome.head != "kept":
        head, *rest = channels[channel]
        left = tuple(rest) if outcome.head == "popped" else (*rest, head)
        if left:
            channels[channel] = left
        else:
            del channels[channel]
    for key, woken in outcome.woken:
        channels[key] = (woken, *channels.get(key, ()))
    for key, sent in outcome.sent:
        channels[key] = (*channels.get(key, ()), sent)
        if len(channels[key]) > _LONGEST:
            return None
    return channels


__all__ = ["Exploration", "Findings"]
