"""A slow explorer over the Python engine: the reference for numbers of states and steps.

It shares nothing with the native one but the idea: the controllers are the Python ones, states are
nested tuples of what the objects hold, and what a load may return is kept in sets. A system walks
along the edges of the graph that it finds, always to the nearest choice that was not made yet.
Invariant: processors that load and store, one agent a port, no reductions; the rest is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Final, get_type_hints

from protocols.loader import LoadedProtocol
from runtime.requesters.port import Access, AccessKind, Client
from runtime.requesters.sequencer import Sequencer
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.tbe_table import TBETable
from runtime.system.builder import build_completed
from runtime.system.inspection import attributes
from runtime.system.system import System
from runtime.types.message import Message
from runtime.types.values import DataBlock, MachineID, NetDest, WriteMask
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.exploration.small_system import FIRST_ADDRESS, LINE_BYTES, SmallSystem

_LOCATION_BYTES: Final = 4
_RUNTIME_FIELDS: Final = frozenset({"arrival", "sequence", "created", "identity", "instSeqNum"})
_ENTRY_FIELDS: Final = frozenset({"cache", "index", "way", "address", "read_set", "write_set"})
Channel = tuple[str, str]
Choice = tuple[Any, ...]


class _UntimedEngine(Engine):
    """Keeps what is sent by channel. ``slots`` has, instead of ticks, pairs of names."""

    __slots__ = ()

    def post(self, put: Callable[[Any], object], item: Any, tick: int, bit: int = 0) -> None:
        buffer = _Flights.of(self).receiver(put)
        channel = (_Flights.of(self).sender or buffer.name, buffer.name)
        _Flights.of(self).sender = ""
        waiting = _Flights.of(self).messages.setdefault(channel, [])
        if tick <= self.now and self.running and not waiting:
            put(item)
            self.pending |= bit
        else:
            waiting.append(item)

    def schedule(self, consumer: Any, tick: int) -> None:
        flights = _Flights.of(self)
        if consumer.consumer_id < flights.controllers:
            flights.awake.add(consumer.consumer_id)
        else:
            self.pending |= consumer.bit


class _Flights:
    """What an untimed engine has under way."""

    _all: Final[dict[int, _Flights]] = {}

    def __init__(self, system: System) -> None:
        self.messages: dict[Channel, list[Message]] = {}
        self.awake: set[int] = set()
        self.sender = ""
        self.controllers = len(system.controllers)
        self._buffers = list(system.buffers.values())
        self._puts = {id(buffer.put): buffer for buffer in self._buffers}
        self._all[id(system.engine)] = self

    @classmethod
    def of(cls, engine: Engine) -> _Flights:
        return cls._all[id(engine)]

    def receiver(self, put: Callable[[Any], object]) -> MessageBuffer:
        known = self._puts.get(id(put))
        if known is not None:
            return known
        owner = getattr(put, "__self__", None)
        assert isinstance(owner, MessageBuffer)
        return owner

    def tap(self, name: str, message: Message, tick: int) -> None:
        self.sender = name


@dataclass(eq=False)
class _Token:
    """What is known about the value of a store."""

    location: int
    owner: int | None
    established: bool = False
    over: bool = False
    older: set[int] = field(default_factory=set)
    may: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)

    @property
    def live(self) -> bool:
        return self.owner is not None or bool(self.may) or (self.established and not self.over)

    @property
    def signature(self) -> Choice:
        older = () if self.over else tuple(sorted(self.older))
        return (
            self.location,
            -1 if self.owner is None else self.owner,
            self.established,
            self.over,
            older,
            tuple(sorted(self.may)),
            tuple(sorted(self.before)),
        )


class _Values:
    """Linearizability of every location, by sets."""

    def __init__(self) -> None:
        self.tokens: dict[int, _Token] = {}
        self.loading: dict[int, int] = {}
        self._next = 2

    def new(self, token: _Token) -> int:
        self.tokens = {value: each for value, each in self.tokens.items() if each.live}
        value, self._next = self._next, self._next + 1
        self.tokens[value] = token
        return value

    def of(self, location: int) -> list[_Token]:
        return [t for t in self.tokens.values() if t.location == location and t.live]

    def begin_store(self, agent: int, location: int) -> int:
        for token in self.of(location):
            if token.established:
                token.older.add(agent)
        may = {each for each, where in self.loading.items() if where == location}
        return self.new(_Token(location, agent, may=may))

    def establish(self, token: _Token) -> None:
        if token.established:
            return
        token.established = True
        for other in self.of(token.location):
            if token.owner in other.older:
                other.older.discard(token.owner)
                other.over = True

    def performed(self, value: int) -> None:
        token = self.tokens[value]
        self.establish(token)
        token.owner = None

    def begin_load(self, agent: int, location: int) -> None:
        self.loading[agent] = location
        for token in self.of(location):
            if not token.over:
                token.may.add(agent)
                if token.established:
                    token.before.add(agent)

    def end_load(self, agent: int, location: int, value: int) -> bool:
        got = self.tokens.get(value)
        if got is None or got.location != location or agent not in got.may:
            return False
        self.establish(got)
        later = set(got.before)
        for token in self.of(location):
            if token is not got and agent in token.before:
                token.over = True
                token.may -= later
        for token in self.tokens.values():
            token.may.discard(agent)
            token.before.discard(agent)
        del self.loading[agent]
        return True


class _Agent(Client):
    """A processor with one access at a time."""

    def __init__(self, number: int, requester: Sequencer, values: _Values) -> None:
        self.number = number
        self.requester = requester
        self.values = values
        self.doing: tuple[int, int] | None = None
        self.value = 0
        self.wrong = False

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        assert self.doing is not None
        value = data.data >> 8 * (access.addresses[0] - line) & 0xFFFF_FFFF
        self.wrong = not self.values.end_load(self.number, self.doing[1], value)
        self.doing = None

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        self.values.performed(self.value)
        self.doing = None

    def begin(self, kind: int, location: int, address: int) -> None:
        self.doing = kind, location
        stored = []
        if kind == AccessKind.STORE:
            self.value = self.values.begin_store(self.number, location)
            stored = [self.value]
        else:
            self.values.begin_load(self.number, location)
        access = Access(kind, self, 0, [address], _LOCATION_BYTES, stored)
        assert self.requester.issue(access), "nothing is begun that would be refused"


@dataclass(frozen=True, slots=True)
class Counted:
    """``wrong``: a load returned a value that it must not, in some state."""

    states: int
    steps: int
    wrong: bool


class ReferenceExplorer:
    """All states of a small system, on the Python engine. Raises ConfigError for what it lacks."""

    def __init__(self, protocol: LoadedProtocol, small: SmallSystem) -> None:
        allowed = {"load", "store"}
        if set(small.operations) - allowed or len(small.renamings) > 1:
            raise ConfigError("the reference explorer knows loads, stores and no symmetry")
        self.protocol = protocol
        self._fields: dict[str, tuple[str, ...]] = {}
        self.small = small
        self._begin()

    def _begin(self) -> None:
        """A system at its first state."""
        small = self.small
        system = build_completed(self.protocol.info, small.description, 0)
        self.system = system
        self.engine = system.engine
        self.flights = _Flights(system)
        self.engine.__class__ = _UntimedEngine
        self.engine.tap = self.flights.tap
        self.engine.running = True
        self.values = _Values()
        self.agents = []
        for number, agent in enumerate(small.agents):
            requester = system.requesters[agent.requester]
            if not isinstance(requester, Sequencer) or small.bounds.agents != 1:
                raise ConfigError("the reference explorer knows one processor on each port")
            self.agents.append(_Agent(number, requester, self.values))
        self.transitions = 0
        for controller in system.controllers:
            controller._limit = controller.transitions_per_cycle = 1
            controller.max_transitions_per_tick = 1
            controller.observer = self._observe
        self._fill()

    def _observe(self, *_: object) -> None:
        self.transitions += 1

    def _fill(self) -> None:
        bounds = self.small.bounds
        for line in range(bounds.lines):
            data = 0
            for place in range(bounds.locations):
                value = self.values.new(_Token(line * bounds.locations + place, None, True))
                data |= value << 32 * place
            self.system.memory.write_line(FIRST_ADDRESS + line * LINE_BYTES, data)

    # ------------------------------------------------------------------ stepping

    def _apply(self, choice: Choice) -> None:
        self.engine.now += 1
        kind = choice[0]
        if kind == "issue":
            self._issue(*choice[1:])
        elif kind == "wake":
            self._run({choice[1]})
        else:
            channel, place = choice[1], choice[2]
            self._arrive(channel, place)
            self._run_flagged()

    def _issue(self, agent: int, kind: int, location: int) -> None:
        bounds = self.small.bounds
        line, place = divmod(location, bounds.locations)
        address = FIRST_ADDRESS + line * LINE_BYTES + place * _LOCATION_BYTES
        one = self.agents[agent]
        queue = one.requester.queue
        channel = (queue.name, queue.name)
        before = len(self.flights.messages.get(channel, ()))
        one.begin(kind, location, address)
        self._run_clients()
        if len(self.flights.messages.get(channel, ())) == before + 1:
            self._arrive(channel, before)
        self._run_flagged()

    def _arrive(self, channel: Channel, place: int) -> None:
        message = self.flights.messages[channel].pop(place)
        message.arrival = self.engine.now
        message.sequence = self.engine.sequence
        self.engine.sequence += 1
        buffer = self.system.buffers[channel[1]]
        buffer.put(message)
        self.engine.pending |= buffer.bit

    def _run_flagged(self) -> None:
        self._run_clients()
        mask = (1 << self.flights.controllers) - 1
        while self.engine.pending & mask:
            flagged = self.engine.pending & mask
            self.engine.pending &= ~mask
            self._run({i for i in range(self.flights.controllers) if flagged >> i & 1})

    def _run(self, controllers: set[int]) -> None:
        for number in sorted(controllers):
            self.engine.now += 1
            self.flights.awake.discard(number)
            before = (self.transitions, self.engine.sequence)
            self.system.controllers[number].wakeup()
            moved = (self.transitions, self.engine.sequence) != before
            if not moved or not self._ready(number):
                self.flights.awake.discard(number)
        self._run_clients()
        if self.engine.pending:
            self._run_flagged()

    def _run_clients(self) -> None:
        mask = (1 << self.flights.controllers) - 1
        while self.engine.pending & ~mask:
            flagged = self.engine.pending & ~mask
            self.engine.pending &= mask
            self.engine.now += 1
            for number in range(flagged.bit_length()):
                if flagged >> number & 1:
                    self.engine.consumers[number].wakeup()

    def _ready(self, number: int) -> bool:
        return any(
            buffer.messages
            for buffer in self.system.buffers.values()
            if buffer.consumer is not None and buffer.consumer.consumer_id == number
        )

    def _ordered(self, channel: Channel) -> bool:
        receiver = self.system.buffers[channel[1]]
        if channel[0] == channel[1]:
            return receiver.ordered
        ports = self.system.network.ports
        return receiver.ordered and any(p.ordered for p in ports if p.name == channel[0])

    # ------------------------------------------------------------------ states

    def _value(self, value: object) -> object:
        if isinstance(value, DataBlock):
            data = range(self.small.bounds.locations)
            return ("block", *(_Value(value.data >> 32 * i & 0xFFFF_FFFF) for i in data))
        if isinstance(value, MachineID):
            return (value.type, value.num)
        if isinstance(value, NetDest):
            return value.bits
        if isinstance(value, WriteMask):
            return value.bits
        return value

    def _fields_of(self, kind: type[Message]) -> tuple[str, ...]:
        """Those of a class of messages that are state."""
        known = self._fields.get(kind.__name__)
        if known is None:
            names = sorted(get_type_hints(kind).keys() - _RUNTIME_FIELDS)
            known = tuple(name for name in names if not name.isupper())
            self._fields[kind.__name__] = known
        return known

    def _message(self, message: Message) -> Choice:
        fields = [self._value(getattr(message, name)) for name in self._fields_of(type(message))]
        return (type(message).__name__, *fields)

    def _record(self, record: Any) -> Choice:
        slots = [name for each in type(record).__mro__ for name in getattr(each, "__slots__", ())]
        names = slots or list(vars(record))
        fields = [(n, self._value(getattr(record, n))) for n in names if n not in _ENTRY_FIELDS]
        return tuple(fields)

    def _parts(self) -> Iterator[object]:
        """Everything that a state consists of, in an order of its own."""
        for agent in self.agents:
            yield agent.doing
        for number, controller in enumerate(self.system.controllers):
            yield number in self.flights.awake
            waiting = controller.waiting.items()
            yield tuple(sorted((line, len(row)) for line, row in waiting if row))
            for frames in controller.caches():
                yield tuple(self._frame(entry) for entry in _frames(frames))
            for _, thing in sorted(attributes(controller), key=lambda item: str(item[0])):
                if isinstance(thing, TBETable | DirectoryMemory):
                    records: dict[int, Any] = thing.records
                    yield tuple((line, self._record(r)) for line, r in sorted(records.items()))
        for line in range(self.small.bounds.lines):
            data = self.system.memory.read_line(FIRST_ADDRESS + line * LINE_BYTES)
            yield self._value(DataBlock(data))
        for buffer in self.system.buffers.values():
            held = [(m.arrival, m.sequence, -1, m) for m in buffer.messages]
            for line, messages in buffer.stalled.items():
                held += [(m.arrival, m.sequence, line, m) for m in messages]
            held.sort(key=lambda item: item[:2])
            yield tuple((line, self._message(m)) for _, _, line, m in held)
        for channel, messages in sorted(self.flights.messages.items()):
            if messages:
                texts = [self._message(m) for m in messages]
                if not self._ordered(channel):
                    texts.sort(key=lambda text: repr(self._resolved(text, self._kind)))
                yield (channel, tuple(texts))

    def _frame(self, entry: AbstractCacheEntry | None) -> object:
        return None if entry is None else (entry.address, self._record(entry))

    def _kind(self, value: int) -> object:
        token = self.values.tokens.get(value)
        if value == 0 or token is None or not token.live:
            return "cleared" if value == 0 else "dead"
        return token.signature

    def _resolved(self, part: object, name: Callable[[int], object]) -> object:
        if isinstance(part, _Value):
            return name(part.number)
        if isinstance(part, tuple):
            return tuple(self._resolved(each, name) for each in part)
        return part

    def code(self) -> Choice:
        """The state, with values named in the order in which they are met."""
        names: dict[object, int] = {}
        known: list[Choice] = []

        def name(value: int) -> object:
            kind = self._kind(value)
            if isinstance(kind, str):
                return kind
            token = self.values.tokens[value]
            alike = token.owner is None and token.over and not token.before
            key: object = kind if alike else value
            if key not in names:
                names[key] = len(names)
                known.append(token.signature)
            return names[key]

        parts = tuple(self._resolved(part, name) for part in self._parts())
        unseen = sorted(
            token.signature
            for value, token in self.values.tokens.items()
            if token.live and value not in names and (token.owner is not None or not token.over)
        )
        return (parts, tuple(known), tuple(unseen))

    def _choices(self) -> dict[Choice, Choice]:
        """By a name that does not depend on the order of equal things: what to apply."""
        found: dict[Choice, Choice] = {}
        for channel, messages in sorted(self.flights.messages.items()):
            if self._ordered(channel):
                if messages:
                    found["deliver", channel, 0] = ("deliver", channel, 0)
                continue
            texts = [repr(self._resolved(self._message(m), self._kind)) for m in messages]
            order = sorted(range(len(messages)), key=texts.__getitem__)
            for rank, place in enumerate(order):
                found["deliver", channel, rank] = ("deliver", channel, place)
        for number in sorted(self.flights.awake):
            found["wake", number] = ("wake", number)
        for agent in self.agents:
            if agent.doing is not None:
                continue
            for kind in (AccessKind.LOAD, AccessKind.STORE):
                for location in range(self.small.bounds.lines * self.small.bounds.locations):
                    choice = ("issue", agent.number, kind, location)
                    found[choice] = choice
        return found

    # ------------------------------------------------------------------ the graph

    def run(self, most_states: int) -> Counted:
        """Walk until every choice of every state was made, or there are too many states."""
        graph: dict[Choice, dict[Choice, Choice | None]] = {}
        here = first = self.code()
        graph[here] = dict.fromkeys(self._choices())
        steps = 0
        wrong = False
        while len(graph) <= most_states:
            way = _nearest(graph, here)
            if way is None:
                if all(None not in made.values() for made in graph.values()):
                    break
                # The first states are never seen again: entries of directories stay.
                self._begin()
                here = first
                continue
            for name in way:
                self._apply(self._choices()[name])
                wrong = wrong or any(agent.wrong for agent in self.agents)
                after = self.code()
                if graph[here][name] is None:
                    steps += 1
                    graph[here][name] = after
                    if after not in graph:
                        graph[after] = dict.fromkeys(self._choices())
                here = after
        return Counted(len(graph), steps, wrong)


@dataclass(frozen=True, slots=True)
class _Value:
    """The bytes of a location, until they have a name."""

    number: int


def _frames(frames: Any) -> Iterator[AbstractCacheEntry | None]:
    for entries in frames._sets:
        yield from entries


def _nearest(
    graph: dict[Choice, dict[Choice, Choice | None]], start: Choice
) -> list[Choice] | None:
    """Choices on a shortest way from a state to a choice that was not made yet, and that one."""
    came: dict[Choice, tuple[Choice, Choice] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for name, after in graph[state].items():
            if after is None:
                way = [name]
                back = came[state]
                while back is not None:
                    way.append(back[1])
                    back = came[back[0]]
                return way[::-1]
            if after not in came:
                came[after] = (state, name)
                waiting.append(after)
    return None
