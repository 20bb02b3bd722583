"""What one machine does with one message: worked out once for each pair, and remembered.

A step of a machine depends on what it holds and on the message alone, and worlds are made of few
different parts; so nearly every step of a search is one that was worked out before. What machines
hold and what messages say is numbered. Invariant: equal numbers are equal contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from slicc import ir
from slicc.analysis.product.bodies import Reached
from slicc.analysis.product.machine import Elsewhere, Feeds, Model, Port, Stepped, Unhandled
from slicc.analysis.product.step import Source, Step, Waiting
from slicc.analysis.product.values import (
    DATA,
    KIND,
    LINE,
    OTHER_LINE,
    UNKNOWN,
    NullUsed,
    Record,
    Unmodelled,
    Value,
    freeze,
    thaw,
)
from slicc.text.lazy_dataclass import dataclass

PROCESSOR: Final[Source] = ("processor", 0)
PRESSURE: Final[Source] = ("another line", 0)
MEMORY: Final[Source] = ("memory", 0)
TIMER: Final[Source] = ("timer", 0)
_ALTERNATIVES: Final = 16

Channel = tuple[int, int, Source]
"""Receiving machine, its port, and the sender."""


class Unread(Unmodelled):
    """A message goes to a machine that does not read its virtual network."""


class Numbers:
    """Numbers for contents."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._contents: list[Any] = []

    def of(self, content: Hashable) -> int:
        """The number of a content; a new one if it was not seen before."""
        number = self._numbers.setdefault(content, len(self._contents))
        if number == len(self._contents):
            self._contents.append(content)
        return number

    def __getitem__(self, number: int) -> Any:
        return self._contents[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._contents)


@dataclass(frozen=True, slots=True)
class Held:
    """What one machine holds of the line."""

    objects: tuple[tuple[str, Value], ...]
    tables: tuple[tuple[str, Value], ...]
    waiting: tuple[tuple[str, Source, Value], ...] = ()
    asked: bool = False
    """Its processor waits for an answer."""


@dataclass(frozen=True, slots=True)
class Move:
    """One transition of one machine."""

    machine: tuple[str, int]
    state: str
    event: str
    next: str
    transition: int
    source: Source
    message: str

    def __str__(self) -> str:
        to = "" if self.next == self.state else f" → {self.next}"
        return f"{self.machine[0]} {self.machine[1]}: {self.state}, {self.event}{to}"


HappeningKind = Literal[
    "unhandled", "null", "reached", "unread", "misdirected", "writers", "left", "rest"
]
"""``left``: a message at the head of its queue. ``rest``: nothing is under way, and not all is
done."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that goes wrong."""

    kind: HappeningKind
    machine: str
    state: str = ""
    event: str = ""
    source: Source = ("", 0)
    message: str = ""
    what: str = ""
    span: Any = field(default=None, compare=False)
    way: tuple[Move, ...] = field(default=(), compare=False)
    since: int = field(default=0, compare=False)
    """The first move on the way after the last rest."""
    at: int = field(default=0, compare=False)
    """The move on the way after which what was asked for got lost."""
    place: int = field(default=0, compare=False)
    """The port with the message."""
    sender: Move | None = field(default=None, compare=False)
    """What sent the message, if a machine did."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A transition and what it changes. ``head``: what becomes of the message."""

    move: Move
    guessed: bool
    held: int
    head: str
    woken: tuple[tuple[Channel, int], ...]
    sent: tuple[tuple[Channel, int], ...]


@dataclass(slots=True)
class Attempt:
    """All that can come of a message.

    ``looked``: the cells that were asked for. ``polls``: how often a port was run for it.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    happenings: list[tuple[Happening, bool]] = field(default_factory=list)
    looked: set[tuple[str, str, str]] = field(default_factory=set)
    doubtful: bool = False
    polls: int = 0


class Memory:
    """What machines did with messages, for systems of as many machines of the same types."""

    def __init__(self) -> None:
        self.held = Numbers()
        self.messages = Numbers()
        self.requests: dict[tuple[int, str, str, int], int] = {}
        self.attempts: dict[Model, dict[tuple[Channel, int, int, bool], Attempt]] = {}


class Machines:
    """The machines of a small system, and what each does."""

    def __init__(self, models: Sequence[Model], driven: int, memory: Memory) -> None:
        self.nodes: list[tuple[Model, tuple[str, int]]] = [
            (model, (model.type, number))
            for model in models
            for number in range(driven if model.starts_requests else 1)
        ]
        self._counts = dict(Counter(me[0] for _, me in self.nodes))
        self._index = {me: index for index, (_, me) in enumerate(self.nodes)}
        self.held = memory.held
        self.messages = memory.messages
        self._requests = memory.requests
        self._known = [memory.attempts.setdefault(model, {}) for model, _ in self.nodes]
        self.unmodelled: Counter[str] = Counter()
        self.polls = 0
        """How often a port was run, which is what a search costs; what is known costs as much."""
        self._used: set[int] = set()

    def start(self) -> tuple[int, ...]:
        """What the machines hold at the start."""
        found = []
        for model, me in self.nodes:
            step = Step(me, self._counts, {}, {}, [], "", PROCESSOR, None)
            try:
                objects = model.first_objects(step)
            except Unmodelled:
                objects = step.objects
            tables = tuple((name, None) for name in model.stores)
            found.append(self.held.of(Held(_items(objects), tables)))
        return tuple(found)

    def request(self, index: int, port: Port, kind: str, line: int) -> int:
        """A request of a processor or a DMA engine, as a message."""
        key = (index, port.name, kind, line)
        known = self._requests.get(key)
        if known is None:
            made = _request(self.nodes[index][0], port, kind, line)
            known = self._requests[key] = self.messages.of(freeze(made))
        return known

    def elsewhere(self, message: int) -> int:
        """A message as it is for the other line."""
        record: Record = thaw(self.messages[message])
        for name in ("addr", "LineAddress", "PhysicalAddress", "Addr", "Address"):
            if name in record:
                record[name] = OTHER_LINE
        return self.messages.of(freeze(record))

    def kind(self, message: int) -> str:
        """The type that a message says it has."""
        return _kind(self.messages[message])

    def attempt(self, channel: Channel, held: int, message: int, fresh: bool = False) -> Attempt:
        """Let a machine look at a message. ``fresh``: its processor asks for it only now."""
        key, attempts = (channel, held, message, fresh), self._known[channel[0]]
        known = attempts.get(key)
        if known is None:
            known = attempts[key] = self._work_out(channel, held, message, fresh)
        if id(known) not in self._used:
            self._used.add(id(known))
            self.polls += known.polls
        return known

    def _work_out(self, channel: Channel, held: int, message: int, fresh: bool) -> Attempt:
        found = Attempt()
        pending: list[tuple[bool, ...]] = [()]
        for _ in range(_ALTERNATIVES):
            if not pending:
                break
            decisions = pending.pop()
            found.polls += 1
            step = self._step(channel, held, message, decisions)
            made = self._poll(step, channel, found)
            pending += [
                (*step.taken[:position], not step.taken[position])
                for position in range(len(decisions), len(step.taken))
            ]
            if made is not None:
                self._add(found, channel, step, made, fresh, self.held[held].asked)
        return found

    def _step(self, channel: Channel, held: int, message: int, decisions: tuple[bool, ...]) -> Step:
        index, place, source = channel
        model, me = self.nodes[index]
        now: Held = self.held[held]
        return Step(
            me,
            self._counts,
            {name: thaw(value) for name, value in now.objects},
            {name: thaw(value) for name, value in now.tables},
            [Waiting(port, sender, thaw(kept)) for port, sender, kept in now.waiting],
            model.ports[place].name,
            source,
            thaw(self.messages[message]),
            decisions,
            model.homes,
        )

    def _poll(self, step: Step, channel: Channel, found: Attempt) -> Stepped | None:
        model, _ = self.nodes[channel[0]]
        name, source = model.machine.name, channel[2]
        kind = _kind(step.message)
        wrong: Happening | None = None
        try:
            model.poll(model.ports[channel[1]], step)
        except Stepped as made:
            return made
        except Unhandled as missing:
            where = (name, missing.state, missing.event, source, kind)
            wrong = Happening("unhandled", *where, place=channel[1])
        except NullUsed as used:
            wrong = Happening("null", name, "", "", source, kind, "", used.span)
        except Reached as reached:
            wrong = Happening("reached", name, "", "", source, kind, reached.what, reached.span)
        except Elsewhere as reason:
            if source != PRESSURE:  # the other line has what it needs without this one's frame
                self._give_up(found, reason)
        except (Unmodelled, TypeError, AttributeError, KeyError, IndexError) as reason:
            self._give_up(found, reason)
        finally:
            found.looked.update((model.type, state, event) for state, event in step.looked)
        if wrong is not None:
            found.doubtful = True
            if not _refuses(wrong, channel):
                found.happenings.append((wrong, bool(step.taken)))
        return None

    def _give_up(self, found: Attempt, reason: Exception) -> None:
        found.doubtful = True
        self.unmodelled[str(reason)] += 1

    def _add(
        self,
        found: Attempt,
        channel: Channel,
        step: Step,
        made: Stepped,
        fresh: bool,
        asked: bool,
    ) -> None:
        index, _, source = channel
        try:
            sent = tuple(
                (key, self.messages.of(freeze(message)))
                for each in step.sent
                for key, message in self._receivers(index, each.buffer, each.message)
            )
        except Unmodelled as reason:
            self._give_up(found, reason)
            if isinstance(reason, Unread):
                name, kind = self.nodes[index][0].machine.name, _kind(step.message)
                span = step.sent[0].span if len(step.sent) == 1 else None
                wrong = Happening("unread", name, "", "", source, kind, str(reason), span)
                if span is not None:
                    found.happenings.append((wrong, bool(step.taken)))
            return
        if source == PRESSURE:
            step.waiting = [each for each in step.waiting if each.source != PRESSURE]
        waiting = tuple((each.port, each.source, freeze(each.message)) for each in step.waiting)
        held = Held(
            *(_items(step.objects), _items(step.tables), waiting),
            (asked or fresh) and not step.answered,
        )
        move = Move(
            *(step.me, made.state, made.event, made.next, made.row.index),
            *(source, _kind(step.message)),
        )
        head = "popped" if step.popped else "recycled" if step.recycled else "kept"
        outcome = Outcome(
            *(move, bool(step.taken), self.held.of(held), head),
            *(tuple(self._woken(index, step)), sent),
        )
        found.outcomes.append(outcome)

    def _woken(self, index: int, step: Step) -> Iterator[tuple[Channel, int]]:
        ports = self.nodes[index][0].ports
        for each in reversed(step.woken):
            if each.source != PRESSURE:
                place = next(n for n, port in enumerate(ports) if port.name == each.port)
                yield (index, place, each.source), self.messages.of(freeze(each.message))

    def _receivers(
        self, index: int, buffer: str, message: Record
    ) -> Iterator[tuple[Channel, Record]]:
        model, me = self.nodes[index]
        link = model.links.get(buffer)
        if link is None:
            yield self._inside(index, buffer, message)
            return
        destination = message.get("Destination", UNKNOWN)
        if not isinstance(destination, frozenset):
            raise Unmodelled("unknown destination")
        if me in destination:
            raise Unmodelled("a bus: what all receive in one order")
        for receiver in sorted(destination):
            there = self._index.get(receiver)
            if there is None:
                raise Unmodelled(f"no machine {receiver}")
            ports = self.nodes[there][0].ports
            place = next(
                (n for n, port in enumerate(ports) if port.network == link.virtual_network), None
            )
            if place is None:
                raise Unread(f"{receiver[0]} does not read virtual network {link.virtual_network}")
            yield (there, place, me), message

    def _inside(self, index: int, buffer: str, message: Record) -> tuple[Channel, Record]:
        model, me = self.nodes[index]
        for place, port in enumerate(model.ports):
            if port.feeds is Feeds.OWN and port.buffer == buffer:
                return (index, place, me), message
            if port.feeds is Feeds.MEMORY and message[KIND] == "MemoryMsg":
                answer = {"Sender": me, "OriginalRequestorMachId": message["Sender"]}
                return (index, place, MEMORY), {**message, **answer}
        raise Unmodelled(f"nothing behind {buffer}")


def _refuses(wrong: Happening, channel: Channel) -> bool:
    """Whether the machine only says that it does not know a request of its processor."""
    if channel[2] not in (PROCESSOR, PRESSURE):
        return False
    return wrong.kind != "unhandled" or wrong.message == "IFETCH"


def _items(values: dict[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, freeze(value)) for name, value in values.items())


def _request(model: Model, port: Port, kind: str, line: int) -> Record:
    ref = ir.TypeRef(None, "RubyRequest" if port.feeds is Feeds.PROCESSOR else "SequencerMsg")
    message = model.defaults.record(ref)
    message.update(LineAddress=line, PhysicalAddress=line, Type=kind, Size=4, Len=4)
    message.update(AccessMode="Supervisor", Prefetch="No", WTData=DATA)
    return message


def _kind(message: Any) -> str:
    """The type of a message, thawed or frozen, as its text says."""
    if message is None:
        return ""
    fields = message if isinstance(message, dict) else dict(message)
    kind = fields.get("Type", UNKNOWN)
    return kind if isinstance(kind, str) else ""


__all__ = ["LINE", "Attempt", "Channel", "Happening", "Machines", "Memory", "Move", "Outcome"]
