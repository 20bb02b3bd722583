"""The native engine behind the ports.

Requests and answers cross in one call a tick: addresses and data stand in arrays outside of the
engine's block. Invariant: the engine's input is logged, so that a system whose pools turn out too
small is rebuilt with larger ones and replayed to the same point; only the run time shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import islice
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import AddressSpace
from gpu.memory.coherent.request_splitting import LANES, RequestPart, UnderWay
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.memory.coherent.transition_counts import Executed, executed
from runtime.errors import ProtocolError
from runtime.native.ctypes_api import Library
from runtime.native.external_requester import (
    ExternalSlots,
    ExternalSystem,
)
from runtime.native.plan import Capacities, Plans
from runtime.native.plan_words import NONE
from runtime.native.system import (
    NativeError,
    PoolExhausted,
    RunStatus,
    SystemTooLarge,
    enlarged,
)
from runtime.requesters.port import AccessKind, AnswerKind, Scope
from slicc.text.lazy_dataclass import dataclass

_ANSWERS: Final = tuple(AnswerKind)
_WORDS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_LEAST_LINES: Final = 1 << 14
_MOST_LINES: Final = 1 << 18
"""Mapped lines for which room is made before they are touched."""
_MOST_KEPT: Final = 1 << 18
"""Parts that are logged; a run with more can no longer be replayed."""
_A_PART: Final = 8
"""The weight of a part with many lanes in that limit."""

_SLOTS: Final = 1 << 10
"""Requests under way for which there is room at first."""
_SEVERAL: Final = 4
"""Messages that a line request is in at once, about."""

Explain = Callable[[NativeError], ProtocolError]
Words = npt.NDArray[np.uint64]
Answered = list[tuple[RequestPart, AnswerKind]]


@dataclass(slots=True)
class Run:
    """One run of the engine, and what it was given, in which slots."""

    now: int
    last: int | None
    parts: list[RequestPart]
    slots: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Write:
    """A write to memory itself."""

    address: int
    data: bytes


@dataclass(slots=True)
class SlotsTaken:
    """Slots reserved for the issue engine's requests."""

    slots: list[int]


@dataclass(slots=True)
class EngineRuns:
    """Runs that an issue engine has made. For each run ``words`` holds the tick, the last tick, the
    number of requests, and for each request the slot of one of ``parts``, or all of one that the
    issue engine has made (see `log_request` of gpu/compute_unit/native/cpp/issue_engine.cpp)."""

    words: Words
    parts: list[RequestPart]


LogEntry = Run | Write | SlotsTaken | EngineRuns
_WHOLE: Final = 1 << 63
_LOW: Final = (1 << 32) - 1


class EngineDriver(Protocol):
    """What runs the protocol's engine in place of this backend."""

    def take_request_log(self) -> tuple[Words, int]:
        """The runs made since the last call, and how many parts they contain."""

    def stop_logging(self) -> None:
        """Nothing reads the log of requests any more."""


class OutOfRoom(Exception):
    """The native engine needs larger pools than it can have; the message is for the user."""


def first_capacities(kernel: KernelSystem) -> Capacities:
    """Room for all that the ports can have under way: coalesced requests and their messages."""
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
        line_requests=max(1 << 15, rows),
        events=1 << 14,
        far=1 << 14,
    )


class NativeBackend:
    """``seed``: of random message delays. ``space``: what is mapped, now and later; there is room
    for its lines. ``explain``: turns the engine's numbers into an error. ``capacities``: of the
    pools at first, which grow; None: enough for all that the ports can have under way."""

    def __init__(
        self,
        kernel: KernelSystem,
        library: Library,
        plans: Plans,
        explain: Explain,
        seed: int,
        space: AddressSpace,
        capacities: Capacities | None = None,
    ) -> None:
        self.kernel = kernel
        self.library = library
        self.plans = plans
        self.explain = explain
        self.seed = seed
        self._requesters = kernel.requesters()
        self._capacities = capacities or first_capacities(kernel)
        self._space = space
        self._extent = -1
        self._log: list[LogEntry] | None = []
        self._kept = 0
        self._parts: list[RequestPart] = []
        """Entered since the last run."""
        self._under_way: dict[int, tuple[RequestPart, int]] = {}
        """By slot: the part, and how many answers it still has."""
        self._reserved: set[int] = set()
        """Slots of the issue engine's requests."""
        self._driver: EngineDriver | None = None
        self._handed: list[RequestPart] = []
        """Handed to the issue engine since its log was last collected."""
        self.came: list[int] = []
        """Answers to the issue engine, slot | answer << 32, that came while it did not run the
        protocol's engine."""
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
            self.system.add_external(requester)
        self.slots = ExternalSlots(_SLOTS)
        self._under_way.clear()
        self._reserved.clear()
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

    def enter(self, part: RequestPart) -> None:
        self._parts.append(part)

    def run(self, now: int, last: int | None) -> Answered:
        self.make_room()
        parts, self._parts = self._parts, []
        entry = Run(now, last, parts)
        try:
            answers = self._run(entry)
        except PoolExhausted as error:
            answers = self._again(error, entry)
        self._keep(entry, len(parts))
        return answers

    def peek(self, address: int, size: int) -> bytes:
        while True:
            try:
                return self.system.read_memory(address, size)
            except PoolExhausted as error:
                self._again(error, None)

    def poke(self, address: int, data: bytes) -> None:
        self.make_room()
        entry = Write(address, data)
        try:
            self.system.write_memory(address, data)
        except PoolExhausted as error:
            self._again(error, entry)
        self._keep(entry, len(data) >> 10)

    def executed(self) -> Executed:
        def count(controller: int, state: int, event: int) -> int:
            counts = self.system.counts(controller)
            return int(counts.table[state * counts.stride + event])

        return executed(self.kernel, count)

    def waiting(self) -> list[str]:
        ports = self.kernel.ports()
        found = []
        for part, _ in self._under_way.values():
            lanes = len(part.addresses)
            first = int(part.addresses[0]) if lanes else 0
            found.append(UnderWay(part.port, part.kind, lanes, first, 0).text(ports))
        return found

    # ------------------------------------------------------------------ one run

    def _run(self, entry: Run) -> Answered:
        if entry.parts and not entry.slots:
            entry.slots = [self._give(part) for part in entry.parts]
        else:
            for part, slot in zip(entry.parts, entry.slots, strict=True):
                self._give(part, slot)
        slots = self.slots
        status = self.system.run_external(slots, entry.now, entry.last)
        self.look(slots.view.now, slots.view.next)
        if status == RunStatus.FINDING:
            self.judge()
        return self._answers()

    def _answers(self) -> Answered:
        answers = []
        for slot, answer in self.slots.answers():
            if slot in self._reserved:
                self.came.append(slot | answer << 32)
            else:
                answers.append(self.taken(slot, answer))
        return answers

    def judge(self) -> None:
        """Raise what the engine has found."""
        error = self.system.error()
        assert error is not None, "nothing else judges requests from outside"
        raise self.explain(error)

    def _give(self, part: RequestPart, slot: int | None = None) -> int:
        slots = self.slots
        if slot is None:
            slot = slots.take()
        else:
            slots.take_this(slot)
        request = part.pending.request
        lanes = len(part.addresses)
        slots.address[slot, :lanes] = part.addresses
        kind = part.kind
        scope = Scope.GLC * part.glc | Scope.SLC * part.slc | Scope.INSTRUCTION * part.fetch
        if kind == AccessKind.ATOMIC:
            scope |= Scope.QUIET * (not request.returns)
            slots.op[slot] = request.op
            assert part.data is not None, "an atomic has operands"
            slots.value[slot, :lanes] = _numbers(part.data)
            if part.compares is not None:
                slots.expected[slot, :lanes] = _numbers(part.compares)
        elif part.data is not None:
            slots.bytes[slot, : lanes * part.size] = part.data.reshape(-1)
        slots.give(slot, part.port, kind, part.size, lanes, scope, part.crosses)
        self._under_way[slot] = (part, 2 if kind == AccessKind.STORE else 1)
        return slot

    def taken(self, slot: int, answer: int) -> tuple[RequestPart, AnswerKind]:
        """The part in a slot that was answered, and how; ``answer``: as in `ExternalSlots`."""
        kind = _ANSWERS[answer & 0xFF]
        part, left = self._under_way[slot]
        part.hits, part.misses = answer >> 8 & 0xFF, answer >> 16
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

    # ------------------------------------------------------------------ for the issue engine

    def follow(self, driver: EngineDriver) -> None:
        """From now on this issue engine may run the protocol's engine, too."""
        self._driver = driver

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
        """Whether there are parts that have not been handed over."""
        return bool(self._parts)

    def hand_over(self) -> None:
        """Hand what was entered to the issue engine's next run."""
        for part in self._parts:
            self._give(part)
        if self._log is not None:
            self._handed += self._parts
        self._parts.clear()

    def take_slots(self, count: int) -> list[int]:
        """Reserve slots for the issue engine's requests; they are never returned."""
        slots = [self.slots.take() for _ in range(count)]
        self._reserved.update(slots)
        self.collect_requests()
        self._keep(SlotsTaken(slots), 0)
        return slots

    def exhausted(self) -> None:
        """The issue engine's run has exhausted a pool: rebuild and replay, that run included."""
        try:
            self.system.judge_pools()
        except PoolExhausted as error:
            self._again(error, None, ends_open=True)

    def collect_requests(self) -> None:
        """Move the issue engine's log of runs into this one."""
        if self._driver is None or self._log is None:
            return
        words, count = self._driver.take_request_log()
        if len(words):
            # Others may have been handed over for a run that is still to come.
            parts, self._handed = self._handed[:count], self._handed[count:]
            self._log.append(EngineRuns(words, parts))
            self._kept += (len(words) >> 3) + _A_PART * len(parts)
            self._forget_if_much()

    def _replay_runs(self, runs: EngineRuns, ends_open: bool) -> None:
        """``ends_open``: the answers of its last run are still to be taken."""
        words = iter(runs.words.tolist())
        parts = iter(runs.parts)
        open_end = False
        for now in words:
            if open_end:
                self._answers()
            last, count = next(words), next(words)
            for _ in range(count):
                self._give_again(words, parts)
            self.system.run_external(self.slots, now, last)
            open_end = True
        if not ends_open:
            self._answers()
        self.look(self.slots.view.now, self.slots.view.next)

    def _give_again(self, words: Iterator[int], parts: Iterator[RequestPart]) -> None:
        word = next(words)
        slot = word & _LOW
        if not word & _WHOLE:
            self._give(next(parts), slot)
            return
        how = next(words)
        port, scope, size, lanes = how & _LOW, how >> 32 & 0xFF, how >> 40 & 0xFF, how >> 48 & 0xFF
        kind, crosses = how >> 56 & 0xF, bool(how >> 60 & 1)
        slots = self.slots
        if how >> 61 & 1:
            slots.address[slot, :lanes] = next(words) + size * np.arange(lanes, dtype=np.uint64)
        else:
            slots.address[slot, :lanes] = list(islice(words, lanes))
        if kind == AccessKind.STORE:
            count = -(-lanes * size // 8)
            slots.bytes[slot].view(np.uint64)[:count] = list(islice(words, count))
        slots.give(slot, port, kind, size, lanes, scope, crosses)

    # ------------------------------------------------------------------ more room

    def _keep(self, entry: LogEntry, size: int) -> None:
        if self._log is None:
            return
        if isinstance(entry, Run | Write):
            self.collect_requests()
            if self._log is None:
                return
        self._log.append(entry)
        self._kept += 1 + size
        self._forget_if_much()

    def _forget_if_much(self) -> None:
        if self._kept <= _MOST_KEPT:
            return
        self._log = None
        self._handed.clear()
        if self._driver is not None:
            self._driver.stop_logging()

    def _again(
        self, shortage: PoolExhausted, entry: Run | Write | None, ends_open: bool = False
    ) -> Answered:
        """Rebuild the system with larger pools and replay the log, ``entry`` last."""
        self.collect_requests()
        while True:
            if self._log is None:
                raise OutOfRoom(
                    f"the native engine: {shortage}, and too much has happened to begin again with "
                    "more; the Python engine needs no such room"
                )
            self._capacities = enlarged(self._capacities, shortage)
            try:
                return self._replay(entry, ends_open)
            except PoolExhausted as again:
                shortage = again
            except SystemTooLarge as too_large:
                raise OutOfRoom(f"the native engine: {shortage}, and {too_large}") from None

    def _replay(self, entry: Run | Write | None, ends_open: bool) -> Answered:
        """Replay the log into a new system; the answers to the last entry."""
        came = self.came.copy()
        new: list[int] = []
        try:
            answers = self._replay_log(entry, ends_open)
            if entry is not None:
                new = self.came
        finally:
            self.came = came + new  # the issue engine has seen the others already
        return answers

    def _replay_log(self, entry: Run | Write | None, ends_open: bool) -> Answered:
        assert self._log is not None, "the caller has checked"
        self._start()
        answers: Answered = []
        last = self._log[-1] if self._log else None
        for each in (*self._log, *(() if entry is None else (entry,))):
            self.came = []
            match each:
                case Run():
                    answers = self._run(each)
                case Write(address, data):
                    self.system.write_memory(address, data)
                case SlotsTaken(slots):
                    for slot in slots:
                        self.slots.take_this(slot)
                    self._reserved.update(slots)
                case EngineRuns():
                    self._replay_runs(each, ends_open and each is last)
        return answers

    def make_room(self) -> None:
        """Make room for the lines that have been mapped, while the log to replay is short."""
        if self._space.extent == self._extent:
            return
        self._extent = self._space.extent
        mapped = sum(place.end - place.start for place in self._space.allocations)
        wanted = min(mapped // self.kernel.description.line_size * 5 // 4, _MOST_LINES)
        if wanted <= self._capacities.lines or self._log is None:
            return
        self.collect_requests()
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
            self._replay(None, False)
        except PoolExhausted as error:
            self._again(error, None)


def _numbers(data: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> object:
    """One number for each lane."""
    return np.ascontiguousarray(data).view(_WORDS[data.shape[1]])[:, 0]
