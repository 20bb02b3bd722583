"""Sequences of memory accesses and waits of the front end, written as generators.

A packet processor does many things at once, each of them a sequence: read, compare, wait, write.
Each sequence is a generator that yields what it waits for and is resumed with the result; all
that is ready at a tick runs at that tick, in the order in which it became ready.

Invariant: the front end is *at rest* if no sequence can proceed unless another agent acts: those
that poll memory have all polled since the last event.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import field
from itertools import count
from typing import Any, TypeVar

import numpy as np

from gpu.memory.address_space import Unmapped
from gpu.memory.interface import Answer, Memory, MemoryRequest
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Event:
    """An event that may happen repeatedly. ``count``: how often it has."""

    count: int = 0
    _waiting: dict[Activity, None] = field(default_factory=dict)

    def fire(self) -> None:
        """Resume all that wait now, at the next tick."""
        self.count += 1
        waiting, self._waiting = self._waiting, {}
        for activity in waiting:
            if activity.pause is not None and activity.pause.event is self:
                activity.home.wake(activity)


@dataclass(slots=True)
class Accesses:
    """Wait for all answers to these requests; resumed with the data of each (empty for stores)."""

    requests: list[MemoryRequest]


@dataclass(slots=True)
class Pause:
    """Wait for ``ticks``, or for ``event``, whichever comes first; resumed with None.

    ``seen``: the event's count when its cause was last checked, so that none is missed. ``looked``:
    `Activities.happened` before the poll of memory that found nothing to do; None for a pause that
    ends by itself. ``why``: shown when no sequence can proceed.
    """

    ticks: int | None = None
    event: Event | None = None
    seen: int = -1
    looked: int | None = None
    why: str = ""


Steps = Generator["Accesses | Pause", Any, T]
"""A sequence; its value is what it returns."""


@dataclass(slots=True, eq=False)
class Activity:
    """One running sequence; its creator may cancel it."""

    home: Activities
    steps: Steps[None]
    pause: Pause | None = None
    missing: int = 0
    data: list[bytes] = field(default_factory=list)
    over: bool = False
    turn: int = 0
    """Counts resumptions, so that a time-out that comes too late is recognised."""


class Activities:
    """All sequences of one device's front end. ``memory`` answers their requests."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.happened = 0
        """Counts the events that may change the outcome of a poll of memory."""
        self.news = Event()
        """Fired when the front end itself has changed something in memory."""
        self.on_news: Callable[[], None] = _nothing
        """Called at the same time."""
        self._ready: deque[tuple[Activity, object]] = deque()
        self._sleeping: list[tuple[int, int, int, Activity]] = []
        self._paused: dict[Activity, None] = {}
        self._order = count()
        self._outstanding = 0

    def start(self, steps: Steps[None]) -> Activity:
        """Begin a sequence at this tick or, if it is running already, in it."""
        activity = Activity(self, steps)
        self._ready.append((activity, None))
        return activity

    def cancel(self, activity: Activity) -> None:
        """Cancel a sequence; answers to it are dropped."""
        activity.over = True
        activity.steps.close()
        self._paused.pop(activity, None)
        activity.turn += 1

    def notify(self) -> None:
        """An event that other sequences may wait for."""
        self.happened += 1
        self.news.fire()
        self.on_news()

    def wake(self, activity: Activity) -> None:
        """End a pause."""
        if self._paused.pop(activity, 0) is None:
            activity.pause = None
            activity.turn += 1
            self._ready.append((activity, None))

    # ------------------------------------------------------------------ time

    @property
    def next_tick(self) -> int | None:
        """When something is due; None while only answers or events resume anything."""
        if self._ready:
            return self.memory.now
        while self._sleeping and self._sleeping[0][3].turn != self._sleeping[0][2]:
            heapq.heappop(self._sleeping)
        return self._sleeping[0][0] if self._sleeping else None

    @property
    def at_rest(self) -> bool:
        """No sequence can proceed unless another agent acts."""
        if self._ready or self._outstanding:
            return False
        return all(
            activity.pause is None
            or activity.pause.ticks is None
            or activity.pause.looked == self.happened
            for activity in self._paused
        )

    @property
    def waiting(self) -> list[str]:
        """The reasons of paused sequences that give one."""
        return [each.pause.why for each in self._paused if each.pause and each.pause.why]

    def run(self, now: int) -> None:
        """Resume all that is due at tick ``now``."""
        while self._sleeping and self._sleeping[0][0] <= now:
            _, _, turn, activity = heapq.heappop(self._sleeping)
            if activity.turn == turn:
                self.wake(activity)
        while self._ready:
            activity, value = self._ready.popleft()
            self._resume(activity, value)

    def _resume(self, activity: Activity, value: object) -> None:
        if activity.over:
            return
        try:
            if isinstance(value, Unmapped):
                wait = activity.steps.throw(value)
            else:
                wait = activity.steps.send(value)
            while isinstance(wait, Accesses):
                why_not = self._push(activity, wait.requests)
                if why_not is None:
                    return
                wait = activity.steps.throw(why_not)
        except StopIteration:
            activity.over = True
            return
        self._sleep(activity, wait)

    def _sleep(self, activity: Activity, pause: Pause) -> None:
        if pause.event is not None and pause.seen not in (-1, pause.event.count):
            self._ready.append((activity, None))
            return
        assert activity not in self._paused, "a sequence pauses once at a time"
        activity.pause = pause
        self._paused[activity] = None
        if pause.event is not None:
            pause.event._waiting[activity] = None
        if pause.ticks is not None:
            due = self.memory.now + max(1, pause.ticks)
            heapq.heappush(self._sleeping, (due, next(self._order), activity.turn, activity))

    # ------------------------------------------------------------------ memory

    def _push(self, activity: Activity, requests: list[MemoryRequest]) -> Unmapped | None:
        """Push all, or none from the first that is refused on."""
        activity.data = [b""] * len(requests)
        activity.missing = 0
        for place, request in enumerate(requests):
            request.listener = self._listener(activity, place)
            if request.vmid:
                request.failed = lambda error: self._failed(activity, requests, error)
            try:
                self.memory.push(request)
            except Unmapped as error:
                _ignore(requests[:place])
                activity.missing = 0
                return error
            activity.missing += max(1, len(request.addresses))
        self._outstanding += activity.missing
        if not requests:
            self._ready.append((activity, []))
        return None

    def _failed(self, activity: Activity, requests: list[MemoryRequest], error: Unmapped) -> None:
        """One of the requests was refused later, when its address was translated."""
        _ignore(requests)
        self._outstanding -= activity.missing
        activity.missing = 0
        self._ready.append((activity, error))

    def _listener(self, activity: Activity, place: int) -> Callable[[Answer], None]:
        def receive(answer: Answer) -> None:
            if answer.kind is AnswerKind.ACCEPTED:
                return
            count = max(1, len(answer.lanes))
            if answer.data is not None:
                activity.data[place] += answer.data.tobytes()
            activity.missing -= count
            self._outstanding -= count
            if not activity.missing:
                self._ready.append((activity, activity.data))

        return receive


def _ignore(requests: list[MemoryRequest]) -> None:
    """Answers to these are outstanding, and will be dropped."""
    for request in requests:
        request.listener = request.failed = None


def _nothing() -> None:
    """Ignored by default."""


def one_lane(
    port: int,
    kind: int,
    address: int,
    size: int,
    data: bytes | None = None,
    **more: Any,
) -> MemoryRequest:
    """A request of one lane; addresses have 64 bits, as sums that packets ask for."""
    lane = None if data is None else np.frombuffer(data, np.uint8).reshape(1, size)
    addresses = np.array([address & (1 << 64) - 1], np.uint64)
    return MemoryRequest(port, kind, 0, addresses, size, lane, **more)


def one_atomic(
    port: int, op: int, address: int, operand: int, compare: int, size: int, vmid: int = 0
) -> MemoryRequest:
    """An atomic operation of one lane that returns the old value; numbers modulo their size."""
    compares = None
    if op == AtomicKind.CAS:
        compares = np.frombuffer(bytes_of(compare, size), np.uint8).reshape(1, size)
    data = bytes_of(operand, size)
    more = {"compares": compares, "op": op, "returns": True, "vmid": vmid}
    return one_lane(port, AccessKind.ATOMIC, address, size, data, **more)


def bytes_of(value: int, size: int) -> bytes:
    """The bytes of a number, modulo its size, lowest first."""
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
