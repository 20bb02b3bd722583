"""The search through what can happen to one line.

A world is what each machine holds of the line and which messages are under way. There are some
of each machine that a processor drives and one of each other; a channel keeps the order of one
sender. A processor asks for one thing at a time, and another line may want the frame at any time.
The search prefers worlds behind cells of the tables that were met least often, up to a bound on steps.

Invariant: a happening that is reported has a way there on which every condition was known. One
line, few machines and channels that keep order are a part of what a real system does, so what is
not reported may still happen.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from slicc import ir
from slicc.analysis.product.local import (
    MEMORY,
    PRESSURE,
    PROCESSOR,
    TIMER,
    Attempt,
    Channel,
    Happening,
    Held,
    Machines,
    Move,
    Outcome,
)
from slicc.analysis.product.machine import Feeds
from slicc.analysis.product.values import LINE, OTHER_LINE

_ASKED: Final = {Feeds.PROCESSOR: ("LD", "ST", "IFETCH"), Feeds.DMA: ("LD", "ST")}
_LONGEST: Final = 6
"""Messages of one sender in one channel; what would make it longer is not followed."""
_GUESSED: Final = 1_000

World = tuple[tuple[int, ...], frozenset[tuple[Channel, tuple[int, ...]]]]
Channels = dict[Channel, tuple[int, ...]]


@dataclass(slots=True)
class Findings:
    """What an exploration found."""

    happenings: list[Happening] = field(default_factory=list)
    met: set[tuple[str, str, str]] = field(default_factory=set)
    """Each (machine, state, event) that was asked for on a way without a guess."""
    unmodelled: Counter[str] = field(default_factory=Counter)
    worlds: int = 0
    steps: int = 0
    complete: bool = False


class Exploration:
    """The search; :meth:`run` once."""

    def __init__(self, protocol: ir.Protocol, steps: int, driven: int) -> None:
        self._limit = steps
        self._machines = Machines(protocol, driven)
        self._nodes = self._machines.nodes
        self._found = Findings()
        self._numbers: dict[World, int] = {}
        self._parents: list[tuple[int, Move | None, bool]] = []
        self._reported: set[Happening] = set()
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._samples: dict[tuple[int, int], dict[str, int]] = {}
        self._doubtful = False

    def run(self) -> Findings:
        """Search from the start."""
        found = self._found
        queue: list[tuple[int, int, World]] = []
        start: World = (self._machines.start(), frozenset())
        self._numbers[start] = 0
        self._parents.append((0, None, False))
        heapq.heappush(queue, (0, 0, start))
        while queue and found.steps < self._limit:
            _, number, world = heapq.heappop(queue)
            for outcome, after in self._expand(world, number):
                guessed = outcome.guessed or self._parents[number][2]
                move = outcome.move
                cell = (move.machine[0], move.state, move.event)
                self._counts[cell] += 1
                if after in self._numbers:
                    continue
                self._numbers[after] = own = len(self._parents)
                self._parents.append((number, move, guessed))
                rank = self._counts[cell] + (_GUESSED if guessed else 0)
                heapq.heappush(queue, (rank, own, after))
        found.worlds = len(self._parents)
        found.complete = not queue
        found.unmodelled = self._machines.unmodelled
        return found

    # ------------------------------------------------------------------ moves

    def _expand(self, world: World, number: int) -> Iterator[tuple[Outcome, World]]:
        self._doubtful = self._parents[number][2]
        moved = False
        for each in self._deliveries(world, number):
            moved = True
            yield each
        if not moved and not self._doubtful:
            self._at_rest(world, number)
        yield from self._requests(world, number)

    def _deliveries(self, world: World, number: int) -> Iterator[tuple[Outcome, World]]:
        held, items = world
        channels = dict(items)
        for channel in sorted(channels):
            yield from self._try(held, channels, channel, channels[channel][0], number)
        for index, (model, _) in enumerate(self._nodes):
            for place in model.timers:
                tables = dict(self._machines.held[held[index]].tables)
                if tables[model.ports[place].buffer]:
                    none = self._machines.messages.of(None)
                    yield from self._try(held, channels, (index, place, TIMER), none, number)

    def _requests(self, world: World, number: int) -> Iterator[tuple[Outcome, World]]:
        held, items = world
        channels = dict(items)
        machines = self._machines
        for index, (model, _) in enumerate(self._nodes):
            for place in model.asked:
                port, channel = model.ports[place], (index, place, PROCESSOR)
                if machines.held[held[index]].asked or channel in channels:
                    continue
                for kind in _ASKED[port.feeds]:
                    request = machines.request(index, port, kind, LINE)
                    yield from self._try(held, channels, channel, request, number, True)
            if not model.holds(machines.held[held[index]].tables):
                continue
            for place in model.making_room:
                for message in self._others(index, place):
                    channel = (index, place, PRESSURE)
                    yield from self._try(held, channels, channel, message, number)

    def _others(self, index: int, place: int) -> list[int]:
        """Messages for another line that a port may have to make room for."""
        port = self._nodes[index][0].ports[place]
        if port.feeds is Feeds.PROCESSOR:
            kinds = ("LD", "IFETCH")
            return [self._machines.request(index, port, kind, OTHER_LINE) for kind in kinds]
        return list(self._samples.get((index, place), {}).values())

    def _try(
        self,
        held: tuple[int, ...],
        channels: Channels,
        channel: Channel,
        message: int,
        number: int,
        fresh: bool = False,
    ) -> Iterator[tuple[Outcome, World]]:
        index = channel[0]
        attempt = self._machines.attempt(channel, held[index], message, fresh)
        self._found.steps += 1
        self._note(attempt, channel, message, number)
        for outcome in attempt.outcomes:
            after = _after(channels, channel, message, outcome, fresh)
            if after is None:
                self._doubtful = True
                continue
            machines = (*held[:index], outcome.held, *held[index + 1 :])
            yield outcome, (machines, frozenset(after.items()))

    def _note(self, attempt: Attempt, channel: Channel, message: int, number: int) -> None:
        index, place, source = channel
        guessed = self._parents[number][2]
        if attempt.doubtful:
            self._doubtful = True
        if not guessed:
            self._found.met |= attempt.looked
            for happening, unsure in attempt.happenings:
                if not unsure:
                    self._report(happening, number)
        if source not in (PROCESSOR, PRESSURE, MEMORY, TIMER):
            model = self._nodes[index][0]
            if place in model.making_room:
                kind = self._machines.kind(message)
                samples = self._samples.setdefault((index, place), {})
                if kind not in samples:
                    samples[kind] = self._machines.elsewhere(message)

    # ------------------------------------------------------------------ findings

    def _report(self, happening: Happening, number: int) -> None:
        key = replace(happening, source=(happening.source[0], 0), message="")
        if key not in self._reported:
            self._reported.add(key)
            self._found.happenings.append(replace(happening, way=tuple(self._way(number))))

    def _way(self, number: int) -> list[Move]:
        way: list[Move] = []
        while True:
            number, move, _ = self._parents[number]
            if move is None:
                return way[::-1]
            way.append(move)

    def _at_rest(self, world: World, number: int) -> None:
        """Nothing under way moves: what still waits, waits until something else is asked for."""
        move = self._parents[number][1]
        if move is None:
            return
        for index, each in enumerate(world[0]):
            model, me = self._nodes[index]
            held: Held = self._machines.held[each]
            if held.asked or held.waiting:
                what = "waiting" if held.waiting else "unanswered"
            elif not world[1] and model.keeps(held.tables):
                what = "kept"
            else:
                continue
            last = self._nodes[self._index(move.machine)][0].machine
            span = last.transitions[move.transition].span
            happening = Happening(
                *("rest", last.name, move.state, move.event, me, move.message, what, span)
            )
            self._report(happening, number)
            return

    def _index(self, machine: tuple[str, int]) -> int:
        return next(n for n, (_, me) in enumerate(self._nodes) if me == machine)


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
