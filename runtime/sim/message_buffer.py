"""The queue in front of a controller.

Invariant: ``messages`` holds exactly the messages that have arrived and are not waiting in a
stall list, in the order of ``(arrival, sequence)``. Messages that are still under way belong to
the engine; a message is never in two places and never lost.
"""

from __future__ import annotations

from bisect import bisect
from collections import deque
from typing import TYPE_CHECKING

from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.send_path import SendPath, fast_send_path

if TYPE_CHECKING:
    from runtime.sim.delay_policy import Delays
    from runtime.sim.engine import Consumer, Engine
    from runtime.types.message import M, Message


def _age(message: Message) -> tuple[int, int]:
    return message.arrival, message.sequence


class Occupancy:
    """The slots of a buffer of limited size (``capacity`` 0: unlimited).

    What leaves a buffer frees its slot from the next tick on; what enters takes one at once.
    Invariant: ``taken`` never exceeds ``capacity`` unless that is 0.
    """

    __slots__ = ("_freed", "_freed_tick", "capacity", "engine", "name", "taken")

    def __init__(self, name: str, capacity: int, engine: Engine) -> None:
        if capacity < 0:
            raise ValueError(f"{name}: capacity {capacity} is negative")
        self.name = name
        self.capacity = capacity
        self.engine = engine
        self.taken = 0
        self._freed = 0
        self._freed_tick = -1

    def areNSlotsAvailable(self, count: int) -> bool:
        """Whether ``count`` more messages may be enqueued in this tick."""
        if not self.capacity:
            return True
        taken = self.taken
        if self._freed_tick == self.engine.now:
            taken += self._freed
        return taken + count <= self.capacity

    def expect(self, count: int) -> None:
        """Take slots; a verdict when there are not enough."""
        if self.capacity:
            self.taken += count
            if self.taken > self.capacity:
                raise ProtocolError(
                    ErrorKind.SLOT_OVERFLOW,
                    f"message enqueued into {self.name}, whose {self.capacity} slots are taken",
                )

    def release(self) -> None:
        """Free one slot, visibly from the next tick on."""
        assert self.taken > 0, f"{self.name}: a slot is freed that nothing takes"
        self.taken -= 1
        now = self.engine.now
        if self._freed_tick == now:
            self._freed += 1
        else:
            self._freed_tick = now
            self._freed = 1


class MessageBuffer(Occupancy):
    """Messages for one consumer. ``ordered``: a message never arrives before an earlier one;
    ``strict``: nor is one sent that would be due before it, whatever the random delays."""

    __slots__ = (
        "_path",
        "bit",
        "consumer",
        "delays",
        "last_arrival",
        "last_due",
        "messages",
        "ordered",
        "put",
        "stalled",
        "strict",
        "waiting",
    )

    def __init__(
        self,
        name: str,
        capacity: int = 0,
        ordered: bool = False,
        *,
        engine: Engine,
        delays: Delays | None = None,
        strict: bool = False,
    ) -> None:
        Occupancy.__init__(self, name, capacity, engine)
        self.ordered = ordered
        self.strict = strict and ordered
        self.delays = delays
        self._path: SendPath | None = None
        self.messages: deque[Message] = deque()
        self.put = self.messages.append
        self.stalled: dict[int, list[Message]] = {}
        self.consumer: Consumer | None = None
        self.bit = 0
        self.last_arrival = 0
        self.last_due = 0
        self.waiting: deque[HeldSender] = deque()

    def set_consumer(self, consumer: Consumer) -> None:
        """Name who is woken by arrivals; once per buffer."""
        if self.consumer is not None and self.consumer is not consumer:
            raise ValueError(f"{self.name} has two consumers")
        self.consumer = consumer
        self.bit = consumer.bit
        if not (self.capacity or self.strict):
            self._path = fast_send_path(self, self.engine, self)

    # ------------------------------------------------------------ sending

    def enqueue(self, message: Message, latency: int = 1, bypass: bool = False) -> None:
        """Let the message arrive after ``latency`` cycles and the delay of this channel.

        0 cycles: it is there when this call returns, and its consumer runs (again) in this
        tick. ``bypass`` lifts the FIFO rule of an ordered buffer for this message.
        """
        path = self._path
        if path is not None and latency > 0 and not bypass and self.engine.tap is None:
            path(message, latency)
        else:
            self.send(message, latency, bypass)

    def send(self, message: Message, latency: int, bypass: bool) -> None:
        """The general case of :meth:`enqueue`."""
        if self.consumer is None:
            raise ProtocolError(
                ErrorKind.UNDELIVERABLE, f"{self.name} has no in-port: nothing would receive this"
            )
        engine = self.engine
        now = engine.now
        tick = now + latency
        if self.strict and not bypass:
            self._expect_order(tick)
        if self.delays is not None:
            tick += self.delays.next(message)
        if self.ordered and not (bypass and tick < self.last_arrival):
            tick = self.in_order(tick)
        if self.capacity:
            self.expect(1)
        sequence = engine.sequence
        engine.sequence = sequence + 1
        message.sequence = sequence
        message.created = now
        message.arrival = tick
        if engine.tap is not None:
            engine.tap(self.name, message, tick)
        if tick <= now and latency < 0:
            raise ProtocolError(ErrorKind.NEGATIVE_LATENCY, f"latency {latency} into {self.name}")
        engine.post(self.put, message, tick, self.bit)

    def _expect_order(self, due: int) -> None:
        if due < self.last_due:
            raise ProtocolError(
                ErrorKind.OUT_OF_ORDER,
                f"message enqueued into {self.name}, which is ordered, is due at {due}, the one "
                f"before at {self.last_due}",
            )
        self.last_due = due

    def in_order(self, tick: int) -> int:
        """The arrival of a message due at ``tick``: not before the last one's."""
        if tick < self.last_arrival:
            return self.last_arrival
        self.last_arrival = tick
        return tick

    # ------------------------------------------------------------ receiving

    def isReady(self) -> bool:
        return len(self.messages) > 0

    def peek(self, kind: type[M]) -> M:
        """The head message, which must be of class ``kind``."""
        try:
            message = self.messages[0]
        except IndexError:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"peek into empty {self.name}") from None
        if message.__class__ is not kind and not isinstance(message, kind):
            raise ProtocolError(
                ErrorKind.WRONG_MESSAGE,
                f"{self.name} holds a {type(message).__name__}, not a {kind.__name__}",
            )
        return message

    def dequeue(self) -> int:
        """Remove the head; the cycles that it waited since its arrival."""
        try:
            message = self.messages.popleft()
        except IndexError:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"dequeue of empty {self.name}") from None
        if self.capacity:
            self._free()
        return self.engine.now - message.arrival

    def drop(self) -> None:
        """:meth:`dequeue` for those who do not ask how long the message waited."""
        try:
            self.messages.popleft()
        except IndexError:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"dequeue of empty {self.name}") from None
        if self.capacity:
            self._free()

    def _free(self) -> None:
        self.release()
        if self.waiting:
            self.engine.post(self._admit, None, self.engine.now + 1)

    def _admit(self, _: object) -> None:
        """Hand over what was held back for want of room, in the order of waiting."""
        while self.waiting and self.areNSlotsAvailable(1):
            self.waiting.popleft().hand_over()

    def _head(self, operation: str) -> Message:
        if not self.messages:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"{operation} of empty {self.name}")
        return self.messages.popleft()

    def insert(self, message: Message) -> None:
        """Put an arrived message where its age says."""
        messages = self.messages
        age = (message.arrival, message.sequence)
        if not messages or _age(messages[-1]) < age:
            messages.append(message)
        elif age < _age(messages[0]):
            messages.appendleft(message)
        else:
            messages.insert(bisect(messages, age, key=_age), message)

    def recycle(self, latency: int) -> None:
        """Let the head arrive again after ``latency`` cycles, with its old sequence number."""
        message = self._head("recycle")
        tick = self.engine.now + latency
        message.arrival = tick if tick > 0 else 0
        self.engine.post(self.insert, message, message.arrival, self.bit)

    def delay_head(self, latency: int) -> None:
        """Enqueue the head again as if it had just been sent; it keeps its slot."""
        message = self._head("delay")
        if self.capacity:
            assert self.taken > 0, f"{self.name}: the head has a slot"
            self.taken -= 1
        self.enqueue(message, latency)

    # ------------------------------------------------------------ stalling

    def stall(self, line: int) -> None:
        """Move the head to the end of the stall list of ``line``. It keeps its slot."""
        try:
            message = self.messages.popleft()
        except IndexError:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"stall of empty {self.name}") from None
        waiting = self.stalled.get(line)
        if waiting is None:
            self.stalled[line] = [message]
        else:
            waiting.append(message)

    def wake(self, line: int) -> bool:
        """Bring back what waits for ``line``, at its original age; false if nothing does."""
        woken = self.stalled.pop(line, None)
        if woken is None:
            return False
        assert woken, "a line stands in `stalled` for its messages"
        messages = self.messages
        if len(woken) > 1:
            woken.sort(key=_age)
        if messages and _age(woken[-1]) > _age(messages[0]):
            for message in woken:
                self.insert(message)
        else:
            messages.extendleft(reversed(woken))
        return True

    def wake_all(self) -> bool:
        """:meth:`wake` for every line, in address order."""
        lines = sorted(self.stalled)
        for line in lines:
            self.wake(line)
        return bool(lines)

    # ------------------------------------------------------------ asking

    def isEmpty(self) -> bool:
        """Nothing has arrived and nothing is under way (stalled messages do not count)."""
        return not self.messages and next(self.engine.in_flight(self), None) is None

    def getSize(self) -> int:
        """Messages arrived and under way, without stalled ones."""
        return len(self.messages) + sum(1 for _ in self.engine.in_flight(self))

    def isStallMapEmpty(self) -> bool:
        return not self.stalled

    def getStallMapSize(self) -> int:
        """The number of lines that have stalled messages."""
        return len(self.stalled)

    def hasStalledMsg(self, address: int) -> bool:
        return address in self.stalled

    def contents(self) -> list[Message]:
        """All messages: arrived, under way, stalled by line. For functional access, reports."""
        stalled = [m for line in sorted(self.stalled) for m in self.stalled[line]]
        return [*self.messages, *self.engine.in_flight(self), *stalled]

    def __repr__(self) -> str:
        return f"<MessageBuffer {self.name}: {len(self.messages)} ready>"


class HeldSender:
    """What holds messages back until a buffer of limited size has room."""

    __slots__ = ()

    def hand_over(self) -> None:
        """There is room for one message: hand over the one that has waited longest."""
        raise NotImplementedError
