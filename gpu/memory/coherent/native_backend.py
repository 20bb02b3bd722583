"""The native engine behind the ports.

Requests and answers cross in one call a tick: addresses and data stand in arrays outside of the
engine's block. Invariant: what was told to the engine is kept, so that a system whose room turns
out too small is built again with more and brought to the same point; nobody sees but in the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import AddressSpace
from gpu.memory.coherent.request_splitting import LANES, Part
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.memory.coherent.transition_counts import Executed, executed
from gpu.memory.interface import AnswerKind, RequestKind
from runtime.errors import ProtocolError
from runtime.native.ctypes_api import Library
from runtime.native.external_requester import (
    GLC,
    INSTRUCTION,
    QUIET,
    SLC,
    ExternalSystem,
    OutsideSlots,
)
from runtime.native.plan import NONE, Capacities, Plans
from runtime.native.system import (
    JUDGED,
    NativeError,
    PoolExhausted,
    SystemTooLarge,
    enlarged,
)

_ANSWERS: Final = tuple(AnswerKind)
_WORDS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_LEAST_LINES: Final = 1 << 14
_MOST_LINES: Final = 1 << 18
"""For so many mapped lines there is room before they are touched."""
_MOST_KEPT: Final = 1 << 18
"""Parts that are kept; whoever makes more can no longer be brought to the same point."""
_A_PART: Final = 8
"""What a part of many lanes weighs among them."""

_SEVERAL: Final = 4
"""Messages that a line request is in at once, about."""

Explain = Callable[[NativeError], ProtocolError]
Words = npt.NDArray[np.uint64]
Answered = list[tuple[Part, AnswerKind]]


@dataclass(slots=True)
class Run:
    """One run of the engine, and what it was given, in which slots."""

    now: int
    last: int | None
    parts: list[Part]
    slots: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Write:
    """A write to memory itself."""

    address: int
    data: bytes


@dataclass(slots=True)
class Took:
    """Slots that a front has for its fetches."""

    slots: list[int]


@dataclass(slots=True)
class Story:
    """Runs that a front has made, in words: ticks, last ticks, how many requests, and those:
    the slot of one of ``parts``, or slot, port and address of a fetch (see `note_story` of
    gpu/compute_unit/native/cpp/issue_engine.cpp)."""

    words: Words
    parts: list[Part]


Told = Run | Write | Took | Story
_FETCH: Final = 1 << 63
_LOW: Final = (1 << 32) - 1


class Front(Protocol):
    """What runs the engine in our place for a while."""

    def story(self) -> tuple[Words, int]:
        """What it has told the engine since it was last asked, and in how many parts."""

    def stop_story(self) -> None:
        """It will not be asked again."""


class OutOfRoom(Exception):
    """The native engine needs more room and has none; the message is for the user."""


def first_capacities(kernel: KernelSystem) -> Capacities:
    """Room for all that the ports can have under way: rows, and what becomes of them."""
    machines = kernel.description.machines
    rows = 0
    for each in kernel.description.requesters.values():
        most = (each.outstanding or 0) + 2 * LANES * (each.tokens or 0)
        rows += most * (machines[each.machine].count or 0)
    return Capacities(
        messages=max(1 << 14, _SEVERAL * rows),
        lines=_LEAST_LINES,
        logs=1 << 14,
        atomics=1 << 14,
        flights=max(1 << 13, rows),
        rows=max(1 << 15, rows),
        events=1 << 14,
        far=1 << 14,
    )


class NativeBackend:
    """``seed``: of random message delays. ``space``: what is mapped, now and later; there is room
    for its lines. ``explain``: turns the engine's numbers into a verdict."""

    def __init__(
        self,
        kernel: KernelSystem,
        library: Library,
        plans: Plans,
        explain: Explain,
        seed: int,
        space: AddressSpace,
    ) -> None:
        self.kernel = kernel
        self.library = library
        self.plans = plans
        self.explain = explain
        self.seed = seed
        self._requesters = kernel.requesters()
        self._capacities = first_capacities(kernel)
        self._space = space
        self._extent = -1
        self._told: list[Told] | None = []
        self._kept = 0
        self._parts: list[Part] = []
        """Given since the last run."""
        self._under_way: dict[int, tuple[Part, int]] = {}
        """By slot: the part, and how many answers it still has."""
        self._fetching: set[int] = set()
        """Slots of a front."""
        self._front: Front | None = None
        self._handed: list[Part] = []
        """Given to a front since it last told its story."""
        self.fetched: list[int] = []
        """Slots of a front that were answered while it did not run the engine."""
        self.tick = 0
        self._due: int | None = None
        """The engine's next tick."""
        self._start()

    def _start(self) -> None:
        words = self.plans.plan(
            self.kernel.description, self.seed, self._capacities, len(self._requesters)
        )
        self.system = ExternalSystem(self.library, words)
        self.system.zero_memory()
        for requester in self._requesters:
            self.system.add_outside(requester)
        self.slots = OutsideSlots()
        self._under_way.clear()
        self._fetching.clear()
        self._look()

    def _look(self) -> None:
        """Where the engine's clock stands."""
        self.tick = self.system.now
        self._due = self.system.next_tick

    # ------------------------------------------------------------------ what an engine does

    @property
    def idle(self) -> bool:
        return self._due is None and not self._parts

    def quiet(self, last: int) -> bool:
        return not self._parts and self._due is not None and self._due > last

    def enter(self, part: Part) -> None:
        self._parts.append(part)

    def run(self, now: int, last: int | None) -> Answered:
        self.make_room()
        parts, self._parts = self._parts, []
        told = Run(now, last, parts)
        try:
            answers = self._run(told)
        except PoolExhausted as slip:
            answers = self._again(slip, told)
        self._keep(told, len(parts))
        return answers

    def peek(self, address: int, size: int) -> bytes:
        while True:
            try:
                return self.system.read_memory(address, size)
            except PoolExhausted as slip:
                self._again(slip, None)

    def poke(self, address: int, data: bytes) -> None:
        self.make_room()
        told = Write(address, data)
        try:
            self.system.write_memory(address, data)
        except PoolExhausted as slip:
            self._again(slip, told)
        self._keep(told, len(data) >> 10)

    def executed(self) -> Executed:
        def count(controller: int, state: int, event: int) -> int:
            counts = self.system.counts(controller)
            return int(counts.table[state * counts.stride + event])

        return executed(self.kernel, count)

    def waiting(self) -> list[str]:
        ports = self.kernel.ports()
        found = []
        for part, _ in self._under_way.values():
            port = ports[part.port]
            found.append(
                f"{port.kind.value} port {port.number}: {part.asks.name} of "
                f"{len(part.addresses)} lanes"
                + (f" from {int(part.addresses[0]):#x}" if len(part.addresses) else "")
            )
        return found

    # ------------------------------------------------------------------ one run

    def _run(self, told: Run) -> Answered:
        if told.parts and not told.slots:
            told.slots = [self._give(part) for part in told.parts]
        else:
            for part, slot in zip(told.parts, told.slots, strict=True):
                self._give(part, slot)
        slots = self.slots
        status = self.system.run_outside(slots, told.now, told.last)
        self.look(slots.view.now, slots.view.next)
        if status == JUDGED:
            self.judge()
        return self._answers()

    def _answers(self) -> Answered:
        answers = []
        for slot, kind in self.slots.answers():
            if slot in self._fetching:
                self.fetched.append(slot)
            else:
                answers.append(self.taken(slot, kind))
        return answers

    def judge(self) -> None:
        """Raise what the engine has found."""
        error = self.system.error()
        assert error is not None, "nothing else judges requests from outside"
        raise self.explain(error)

    def _give(self, part: Part, slot: int | None = None) -> int:
        slots = self.slots
        if slot is None:
            slot = slots.take()
        else:
            slots.take_this(slot)
        request = part.flight.request
        lanes = len(part.addresses)
        slots.address[slot, :lanes] = part.addresses
        asks = part.asks
        scope = GLC * part.glc | SLC * part.slc | INSTRUCTION * part.fetch
        if asks == RequestKind.ATOMIC:
            scope |= QUIET * (not request.returns)
            slots.op[slot] = request.op
            assert part.data is not None, "an atomic has operands"
            slots.value[slot, :lanes] = _numbers(part.data)
            if part.compares is not None:
                slots.expected[slot, :lanes] = _numbers(part.compares)
        elif part.data is not None:
            slots.bytes[slot, : lanes * part.size] = part.data.reshape(-1)
        slots.give(slot, part.port, asks, part.size, lanes, scope, part.crosses)
        self._under_way[slot] = (part, 2 if asks == RequestKind.STORE else 1)
        return slot

    def taken(self, slot: int, number: int) -> tuple[Part, AnswerKind]:
        """The part in a slot that was answered, and how."""
        kind = _ANSWERS[number]
        part, left = self._under_way[slot]
        if kind is AnswerKind.LOADED or kind is AnswerKind.OLD_VALUES:
            count = len(part.addresses)
            found = self.slots.bytes[slot, : count * part.size].copy()
            part.result = found.reshape(count, part.size)
        if left > 1:
            self._under_way[slot] = (part, left - 1)
        else:
            del self._under_way[slot]
            self.slots.give_back(slot)
        return part, kind

    # ------------------------------------------------------------------ a front

    def follow(self, front: Front) -> None:
        """From now on this front may run the engine, too."""
        self._front = front

    def look(self, tick: int, due: int) -> None:
        """Where the engine's clock stands; ``due``: `NONE` if nothing is pending."""
        self.tick = tick
        self._due = None if due == NONE else due

    @property
    def due(self) -> int:
        """The engine's next tick, or `NONE`."""
        return NONE if self._due is None else self._due

    @property
    def entered(self) -> bool:
        """Whether there are parts that nobody has been given."""
        return bool(self._parts)

    def hand_over(self) -> None:
        """Put what was entered where a front's next run finds it."""
        for part in self._parts:
            self._give(part)
        if self._told is not None:
            self._handed += self._parts
        self._parts.clear()

    def take_slots(self, count: int) -> list[int]:
        """Slots for a front's fetches, for good."""
        slots = [self.slots.take() for _ in range(count)]
        self._fetching.update(slots)
        self.hear()
        self._keep(Took(slots), 0)
        return slots

    def exhausted(self) -> None:
        """A front's run has found no room: tell another engine all, that run included."""
        try:
            self.system.judge_pools()
        except PoolExhausted as slip:
            self._again(slip, None, ends_open=True)

    def hear(self) -> None:
        """Take over what a front has told the engine."""
        if self._front is None or self._told is None:
            return
        words, count = self._front.story()
        if len(words):
            # Others may have been handed over for a run that is still to come.
            parts, self._handed = self._handed[:count], self._handed[count:]
            self._told.append(Story(words, parts))
            self._kept += (len(words) >> 3) + _A_PART * len(parts)
            self._forget_if_much()

    def _tell_story(self, story: Story, ends_open: bool) -> None:
        """``ends_open``: the answers of its last run are still to be taken."""
        words = iter(story.words.tolist())
        parts = iter(story.parts)
        open_end = False
        for now in words:
            if open_end:
                self._answers()
            last, count = next(words), next(words)
            for _ in range(count):
                self._give_again(words, parts)
            self.system.run_outside(self.slots, now, last)
            open_end = True
        if not ends_open:
            self._answers()
        self.look(self.slots.view.now, self.slots.view.next)

    def _give_again(self, words: Iterator[int], parts: Iterator[Part]) -> None:
        word = next(words)
        slot = word & _LOW
        if not word & _FETCH:
            self._give(next(parts), slot)
            return
        how, address = next(words), next(words)
        port, scope, size, lanes = how & _LOW, how >> 32 & 0xFF, how >> 40 & 0xFF, how >> 48
        self.slots.address[slot, :lanes] = address + size * np.arange(lanes, dtype=np.uint64)
        self.slots.give(slot, port, RequestKind.LOAD, size, lanes, scope, False)

    # ------------------------------------------------------------------ more room

    def _keep(self, told: Told, size: int) -> None:
        if self._told is None:
            return
        if isinstance(told, Run | Write):
            self.hear()
            if self._told is None:
                return
        self._told.append(told)
        self._kept += 1 + size
        self._forget_if_much()

    def _forget_if_much(self) -> None:
        if self._kept <= _MOST_KEPT:
            return
        self._told = None
        self._handed.clear()
        if self._front is not None:
            self._front.stop_story()

    def _again(
        self, slip: PoolExhausted, told: Run | Write | None, ends_open: bool = False
    ) -> Answered:
        """Build the system with more room and tell it everything, ``told`` last."""
        self.hear()
        while True:
            if self._told is None:
                raise OutOfRoom(
                    f"the native engine: {slip}, and too much has happened to begin again with "
                    "more; the Python engine needs no such room"
                )
            self._capacities = enlarged(self._capacities, slip)
            try:
                return self._tell_all(told, ends_open)
            except PoolExhausted as again:
                slip = again
            except SystemTooLarge as too_large:
                raise OutOfRoom(f"the native engine: {slip}, and {too_large}") from None

    def _tell_all(self, told: Run | Write | None, ends_open: bool) -> Answered:
        """A new system, brought to the same point; what the last thing told has brought."""
        assert self._told is not None, "the caller has looked"
        fetched = self.fetched.copy()
        self._start()
        answers: Answered = []
        last = self._told[-1] if self._told else None
        for each in (*self._told, *(() if told is None else (told,))):
            self.fetched.clear()  # a front has heard of these already
            match each:
                case Run():
                    answers = self._run(each)
                case Write(address, data):
                    self.system.write_memory(address, data)
                case Took(slots):
                    for slot in slots:
                        self.slots.take_this(slot)
                    self._fetching.update(slots)
                case Story():
                    self._tell_story(each, ends_open and each is last)
        new = self.fetched if told is not None else []
        self.fetched = fetched + new
        return answers

    def make_room(self) -> None:
        """Be ready for the lines that have been mapped, while little has to be told again."""
        if self._space.extent == self._extent:
            return
        self._extent = self._space.extent
        mapped = sum(place.end - place.start for place in self._space.allocations)
        wanted = min(mapped // self.kernel.description.line_size * 5 // 4, _MOST_LINES)
        if wanted <= self._capacities.lines or self._told is None:
            return
        self.hear()
        before = self._capacities
        # By more than is wanted now, or every allocation would begin anew.
        self._capacities = replace(before, lines=min(2 * wanted, _MOST_LINES))
        try:
            self._again_at_least()
        except SystemTooLarge:
            self._capacities = before
            self._again_at_least()

    def _again_at_least(self) -> None:
        try:
            self._tell_all(None, False)
        except PoolExhausted as slip:
            self._again(slip, None)


def _numbers(data: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> object:
    """One number for each lane."""
    return np.ascontiguousarray(data).view(_WORDS[data.shape[1]])[:, 0]
