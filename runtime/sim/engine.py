"""The one owner of time.

Time is an integer: a tick is a cycle. Pending work is a dictionary from tick to what happens
then, with a heap of those ticks, so idle ticks cost nothing. Invariant: inside a tick every due
message is in its buffer before the first consumer runs, and consumers run in ascending id;
what asks for the current tick again runs in a further round of it. Nothing is polled. No run
works without end: what watches it looks again and again, see `runtime.system.watchdog`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from runtime.errors import ErrorKind, ProtocolError

if TYPE_CHECKING:
    from runtime.types.message import Message

MAX_ROUNDS = 10_000
LOOK_WAKEUPS: Final = 1 << 13
"""Wake-ups between two looks of what watches the engine."""
LOOK_SHARE: Final = 4
"""Looks while as many messages are sent as may be under way."""
IDLE_SHARE: Final = 4
"""A runaway with more than so many wake-ups for each transition is one of wake-ups."""
_NEVER: Final = 1 << 62


class Limits(Struct, frozen=True):
    """Beyond what a run is a runaway (`runtime.system.watchdog.limits_of`).

    ``messages``: under way at once. ``work``: wake-ups and transitions without a completed
    request, each of which allows for ``credit`` more.
    """

    messages: int
    work: int
    credit: int


class Watch(Protocol):
    """What looks for runaways: what the engine asks of it."""

    def look(self) -> ProtocolError | None: ...

    def suspect(self) -> None: ...

    def endless_tick(self) -> ProtocolError: ...

    def busiest(self) -> str: ...


class Receiver(Protocol):
    """Where messages arrive: what the engine asks of a buffer."""

    @property
    def put(self) -> Callable[[Message], object]: ...

    @property
    def bit(self) -> int:
        """The bit of the consumer to run when something has arrived."""

    def insert(self, message: Message) -> None: ...

    def expect(self, count: int) -> None: ...


class Consumer:
    """Something that acts when woken. Its id is its place in the order of construction."""

    __slots__ = ("__weakref__", "bit", "consumer_id", "engine")

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.consumer_id = engine.register(self)
        self.bit = 1 << self.consumer_id

    def wakeup(self) -> None:
        """Do whatever can be done at ``engine.now``."""
        raise NotImplementedError


class Engine:
    """Runs consumers.

    ``slots``: tick -> [(put, message, consumer bit), ...] in the order of sending, where
    ``put(message)`` delivers. ``wakes``: tick -> mask of consumers to run. ``ticks``: heap of
    the ticks that are in either. Enqueueing code of the runtime writes into them directly.
    ``wakeups``: consumer bit -> its ``wakeup``. ``wakeups_made``: how many there were.
    """

    __slots__ = (
        "_look_sequence",
        "_look_wakeups",
        "consumers",
        "counters",
        "limits",
        "max_rounds",
        "now",
        "pending",
        "running",
        "sequence",
        "slots",
        "stopped",
        "tap",
        "ticks",
        "wakes",
        "wakeups",
        "wakeups_made",
        "watch",
    )

    def __init__(self, max_rounds: int = MAX_ROUNDS) -> None:
        self.now = 0
        self.consumers: list[Consumer] = []
        self.wakeups: dict[int, Callable[[], None]] = {}
        self.sequence = 0
        self.slots: dict[int, list[tuple[Callable[[Any], object], Any, int]]] = {}
        self.wakes: dict[int, int] = {}
        self.ticks: list[int] = []
        self.pending = 0
        self.running = False
        self.stopped = False
        self.max_rounds = max_rounds
        self.wakeups_made = 0
        self.limits = Limits(_NEVER, _NEVER, 0)
        self.watch: Watch | None = None
        self._look_wakeups = self._look_sequence = _NEVER
        self.tap: Callable[[str, Message, int], None] | None = None
        self.counters: Any = None
        """What counts the messages of a run that is counted (`runtime.statistics.counters`)."""

    def watched(self, watch: Watch, limits: Limits) -> None:
        """Let ``watch`` look for runaways from now on."""
        self.watch = watch
        self.limits = limits
        self._look_wakeups = self.wakeups_made + LOOK_WAKEUPS
        self._look_sequence = self.sequence + limits.messages // LOOK_SHARE

    def register(self, consumer: Consumer) -> int:
        number = len(self.consumers)
        self.consumers.append(consumer)
        assert len(self.wakeups) == number, "consumers are numbered without a gap"
        self.wakeups[1 << number] = consumer.wakeup
        return number

    def schedule(self, consumer: Consumer, tick: int) -> None:
        """Wake the consumer at ``tick``; now or earlier means in a further round of this tick."""
        if tick <= self.now and self.running:
            self.pending |= consumer.bit
            return
        wakes = self.wakes
        if tick in wakes:
            wakes[tick] |= consumer.bit
        else:
            wakes[tick] = consumer.bit
            if tick not in self.slots:
                heappush(self.ticks, tick)

    def post(self, put: Callable[[Any], object], item: Any, tick: int, bit: int = 0) -> None:
        """Call ``put(item)`` at the start of ``tick`` and flag the consumers in ``bit``.

        At the current tick of a running engine it is called at once.
        """
        if tick <= self.now and self.running:
            put(item)
            self.pending |= bit
            return
        slot = self.slots.get(tick)
        if slot is None:
            self.slots[tick] = [(put, item, bit)]
            if tick not in self.wakes:
                heappush(self.ticks, tick)
        else:
            slot.append((put, item, bit))

    def deliver(self, buffer: Receiver, message: Message, tick: int) -> None:
        """Put a message into a buffer at ``tick``, whatever latency or delay the buffer has."""
        message.arrival = tick
        sequence = self.sequence
        self.sequence = sequence + 1
        message.sequence = sequence
        buffer.expect(1)
        self.post(buffer.put, message, tick, buffer.bit)

    def stop(self) -> None:
        """Leave :meth:`run` when the current tick is over."""
        self.stopped = True

    def run(self, until: int | None = None) -> None:
        """Run until nothing is pending, :meth:`stop` was called, or the next tick is > until.

        ``now`` stays at the last tick that had anything to do.
        """
        ticks = self.ticks
        slots = self.slots
        wakes = self.wakes
        wakeups = self.wakeups
        self.stopped = False
        while ticks and not self.stopped:
            tick = ticks[0]
            if until is not None and tick > until:
                return
            heappop(ticks)
            self.now = tick
            self.running = True
            mask = wakes.pop(tick, 0)
            slot = slots.pop(tick, None)
            if slot is not None:
                for put, message, bit in slot:
                    put(message)
                    mask |= bit
            if self.pending:
                mask |= self.pending
                self.pending = 0
            rounds = 0
            while mask:
                self.wakeups_made += mask.bit_count()
                while mask:
                    lowest = mask & -mask
                    mask ^= lowest
                    wakeups[lowest]()
                mask = self.pending
                if mask:
                    self.pending = 0
                    rounds += 1
                    if rounds >= self.max_rounds >> 1:
                        self._many_rounds(rounds)
            self.running = False
            if self.sequence >= self._look_sequence or self.wakeups_made >= self._look_wakeups:
                self._look()

    def _look(self) -> None:
        assert self.watch is not None, "looks are for what watches"
        self.watched(self.watch, self.limits)
        verdict = self.watch.look()
        if verdict is not None:
            raise verdict

    def _many_rounds(self, rounds: int) -> None:
        """Half of the rounds that a tick may have are over: see what the other half does."""
        assert self.running, "rounds are those of a tick"
        watch = self.watch
        if watch is not None and rounds == self.max_rounds >> 1:
            watch.suspect()
        if rounds > self.max_rounds:
            raise self._no_progress() if watch is None else watch.endless_tick()

    def _no_progress(self) -> ProtocolError:
        error = ProtocolError(
            ErrorKind.TOO_MANY_TRANSITIONS,
            f"more than {self.max_rounds} rounds of wake-ups without progress of time",
        )
        error.tick = self.now
        return error

    def in_flight(self, buffer: Receiver) -> Iterator[Message]:
        """Messages on their way into a buffer, by arrival. Slow: for reports and rare tests."""
        for tick in sorted(self.slots):
            for put, message, _ in self.slots[tick]:
                if put in (buffer.put, buffer.insert):
                    yield message
