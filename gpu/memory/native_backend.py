"""The native engine behind the ports.

Requests and answers cross in one call a tick: addresses and data stand in arrays outside of the
engine's block. Invariant: what was told to the engine is kept, so that a system whose room turns
out too small is built again with more and brought to the same point; nobody sees but in the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from gpu.memory.address_space import AddressSpace
from gpu.memory.interface import AnswerKind, RequestKind
from gpu.memory.kernel_system import KernelSystem
from gpu.memory.parts import LANES, Part
from gpu.memory.transitions import Executed, executed
from runtime.errors import ProtocolError
from runtime.native.library import Library
from runtime.native.outside import GLC, INSTRUCTION, QUIET, SLC, OutsideSlots
from runtime.native.plan import NONE, Capacities, Plans
from runtime.native.system import (
    JUDGED,
    NativeError,
    NativeSystem,
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

_SEVERAL: Final = 4
"""Messages that a line request is in at once, about."""

Explain = Callable[[NativeError], ProtocolError]
Told = tuple[int, int | None, list[Part]] | tuple[int, bytes]
"""A run (tick, last tick, parts) or a write to memory itself (address, data)."""


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
        self.tick = 0
        self._due: int | None = None
        """The engine's next tick."""
        self._start()

    def _start(self) -> None:
        words = self.plans.plan(
            self.kernel.description, self.seed, self._capacities, len(self._requesters)
        )
        self.system = NativeSystem(self.library, words)
        self.system.zero_memory()
        for requester in self._requesters:
            self.system.add_outside(requester)
        self._slots = OutsideSlots()
        self._under_way.clear()
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

    def run(self, now: int, last: int | None) -> list[tuple[Part, AnswerKind]]:
        if self._space.extent != self._extent:
            self._make_room()
        parts, self._parts = self._parts, []
        told: Told = (now, last, parts)
        try:
            answers = self._run(now, last, parts)
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
        if self._space.extent != self._extent:
            self._make_room()
        told: Told = (address, data)
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

    def _run(self, now: int, last: int | None, parts: list[Part]) -> list[tuple[Part, AnswerKind]]:
        for part in parts:
            self._give(part)
        slots = self._slots
        status = self.system.run_outside(slots, now, last)
        self.tick = slots.view.now
        due = slots.view.next
        self._due = None if due == NONE else due
        if status == JUDGED:
            error = self.system.error()
            assert error is not None, "nothing else judges requests from outside"
            raise self.explain(error)
        return [self._taken(slot, _ANSWERS[kind]) for slot, kind in slots.answers()]

    def _give(self, part: Part) -> None:
        slots = self._slots
        slot = slots.take()
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

    def _taken(self, slot: int, kind: AnswerKind) -> tuple[Part, AnswerKind]:
        part, left = self._under_way[slot]
        if kind is AnswerKind.LOADED or kind is AnswerKind.OLD_VALUES:
            count = len(part.addresses)
            found = self._slots.bytes[slot, : count * part.size].copy()
            part.result = found.reshape(count, part.size)
        if left > 1:
            self._under_way[slot] = (part, left - 1)
        else:
            del self._under_way[slot]
            self._slots.give_back(slot)
        return part, kind

    # ------------------------------------------------------------------ more room

    def _keep(self, told: Told, size: int) -> None:
        if self._told is None:
            return
        self._told.append(told)
        self._kept += 1 + size
        if self._kept > _MOST_KEPT:
            self._told = None

    def _again(self, slip: PoolExhausted, told: Told | None) -> list[tuple[Part, AnswerKind]]:
        """Build the system with more room and tell it everything, ``told`` last."""
        while True:
            if self._told is None:
                raise OutOfRoom(
                    f"the native engine: {slip}, and too much has happened to begin again with "
                    "more; the Python engine needs no such room"
                )
            self._capacities = enlarged(self._capacities, slip)
            try:
                return self._tell_all(told)
            except PoolExhausted as again:
                slip = again
            except SystemTooLarge as too_large:
                raise OutOfRoom(f"the native engine: {slip}, and {too_large}") from None

    def _tell_all(self, told: Told | None) -> list[tuple[Part, AnswerKind]]:
        """A new system, brought to the same point; what the last thing told has brought."""
        assert self._told is not None, "the caller has looked"
        self._start()
        answers: list[tuple[Part, AnswerKind]] = []
        for each in (*self._told, *(() if told is None else (told,))):
            answers = []
            if len(each) == 3:
                answers = self._run(*each)
            else:
                self.system.write_memory(*each)
        return answers

    def _make_room(self) -> None:
        """Be ready for the lines that have been mapped, while little has to be told again."""
        self._extent = self._space.extent
        mapped = sum(place.end - place.start for place in self._space.allocations)
        wanted = min(mapped // self.kernel.description.line_size * 5 // 4, _MOST_LINES)
        if wanted <= self._capacities.lines or self._told is None:
            return
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
            self._tell_all(None)
        except PoolExhausted as slip:
            self._again(slip, None)


def _numbers(data: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> object:
    """One number for each lane."""
    return np.ascontiguousarray(data).view(_WORDS[data.shape[1]])[:, 0]
