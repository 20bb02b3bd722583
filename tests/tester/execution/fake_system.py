"""A perfect flat memory behind ports with random latencies, and ways to make it wrong.

A permanent test asset: whatever :class:`Fault` it is given, the tester must find, and without
one the tester must stay silent. It speaks the requesters' port API on the runtime's engine; no
protocol, no compiler. Loads and fetch-adds are performed at a random tick between issue and answer,
stores when they are accepted, so everything a correct memory may do can happen.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.requesters.port import Access, AccessKind, Outstanding, Requester
from runtime.sim.engine import Consumer, Engine
from runtime.system.inspection import Copy
from runtime.types.atomic_op import AtomicOp
from runtime.types.values import DataBlock


@dataclass
class Fault:
    """``kind`` goes wrong at its ``at``-th opportunity, and only then (``hang``: from then on)."""

    kind: str
    at: int = 1
    seen: int = 0
    lost: tuple[int, int, int] | None = None
    """Address, size and value of the store that never happened."""

    def now(self, kind: str) -> bool:
        if kind != self.kind:
            return False
        self.seen += 1
        return self.seen >= self.at if kind == "hang" else self.seen == self.at


FAULTS = (
    "stale value",
    "foreign value",
    "wrong line",
    "lost store",
    "torn store",
    "lost completion",
    "lost acceptance",
    "lost data",
    "double data",
    "double completion",
    "early release",
    "duplicated atomic",
    "skipped atomic",
    "lost atomic",
    "lost synchronization",
    "lost retry",
    "hang",
    "leak",
)


class FakeMemory:
    """Bytes by address, with all earlier values of each."""

    def __init__(self, initial_byte: Callable[[int], int]) -> None:
        self._initial = initial_byte
        self.bytes: dict[int, int] = {}
        self.before: dict[int, int] = {}

    def byte(self, address: int) -> int:
        if address not in self.bytes:
            self.bytes[address] = self._initial(address)
        return self.bytes[address]

    def read(self, address: int, size: int) -> int:
        return sum(self.byte(address + i) << 8 * i for i in range(size))

    def write(self, address: int, size: int, value: int) -> None:
        for i in range(size):
            self.before[address + i] = self.byte(address + i)
            self.bytes[address + i] = value >> 8 * i & 0xFF

    def read_before(self, address: int, size: int) -> int:
        """What stood there before each byte's latest write."""
        return sum(
            self.before.get(a, self.byte(a)) << 8 * (a - address)
            for a in range(address, address + size)
        )


class FakeRequester(Consumer):
    """A port that answers line by line, at random times, and refuses now and then."""

    def __init__(self, system: FakeSystem, index: int, kind: str, lanes: int) -> None:
        super().__init__(system.engine)
        self.system = system
        self.kind = kind
        self.index = index
        self.name = f"fake.{kind}{index}"
        self.lanes = lanes
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0
        self._open: dict[int, tuple[Access, int]] = {}
        self._uncompleted: dict[int, int] = {}
        self._releases: dict[int, list[Access]] = {}

    # ------------------------------------------------------------------ port

    def issue(self, access: Access) -> bool:
        system = self.system
        if system.refusals and system.random.random() < system.refusals:
            if not system.fault.now("lost retry"):
                self._later(1, lambda: access.client.retry(self))
            return False
        access.issued = system.engine.now
        access.sequence = self._number
        kind = access.kind
        if system.fault.now("hang"):
            self._open[id(access)] = (access, 1)
            return True
        if kind == AccessKind.RELEASE:
            self._release(access)
        elif kind >= AccessKind.ACQUIRE:
            if not system.fault.now("lost synchronization"):
                self._later(system.latency(), lambda: access.client.synchronized(access))
        else:
            for line, lanes in self._lines(access):
                if kind == AccessKind.LOAD:
                    self._load(access, lanes, line)
                elif kind == AccessKind.STORE:
                    self._store(access, lanes, line)
                else:
                    self._atomic(access, lanes)
        return True

    def outstanding(self) -> list[Outstanding]:
        return [
            Outstanding(access, list(range(len(access.addresses))), -1, access.issued, "sent")
            for access, _ in self._open.values()
        ]

    # ------------------------------------------------------------------ operations

    def _lines(self, access: Access) -> list[tuple[int, list[int]]]:
        size = self.system.line_size
        if self.system.one_request_per_lane:
            return [(a & -size, [i]) for i, a in enumerate(access.addresses)]
        lines: dict[int, list[int]] = {}
        for index, address in enumerate(access.addresses):
            lines.setdefault(address & -size, []).append(index)
        return list(lines.items())

    def _load(self, access: Access, lanes: list[int], line: int) -> None:
        system = self.system
        memory = system.memory

        def perform() -> None:
            block = DataBlock()
            block.data = memory.read(line, system.line_size)
            first = access.addresses[lanes[0]]
            shift = 8 * (first - line)
            mask = (1 << 8 * access.size) - 1
            old = memory.read_before(first, access.size)
            if old != memory.read(first, access.size) and system.fault.now("stale value"):
                block.data = block.data & ~(mask << shift) | old << shift
            if system.fault.now("foreign value"):
                block.data ^= 0x5A << shift
            if system.fault.now("lost data"):
                return
            answer_line = line + system.line_size if system.fault.now("wrong line") else line
            self._later(
                system.latency(),
                lambda: access.client.loaded(access, lanes, answer_line, block),
            )
            if system.fault.now("double data"):
                self._later(90, lambda: access.client.loaded(access, lanes, line, block))

        self._later(system.latency(), perform)

    def _store(self, access: Access, lanes: list[int], line: int) -> None:
        system = self.system
        fault = system.fault
        client = access.client
        key = id(client)
        self._uncompleted[key] = self._uncompleted.get(key, 0) + 1

        def complete() -> None:
            client.store_completed(access, lanes, line)
            self._uncompleted[key] -= 1
            if not self._uncompleted[key]:
                for release in self._releases.pop(key, []):
                    client.synchronized(release)

        def accept() -> None:
            if fault.now("lost acceptance"):
                return
            for i in lanes:
                if fault.now("lost store"):
                    fault.lost = (access.addresses[i], access.size, access.values[i])
                    continue
                size = access.size
                if size > 1 and fault.now("torn store"):
                    size //= 2
                system.memory.write(access.addresses[i], size, access.values[i])
            client.stored(access, lanes, line)
            if not fault.now("lost completion"):
                self._later(system.latency(), complete)
            if fault.now("double completion"):
                self._later(90, lambda: client.store_completed(access, lanes, line))

        self._later(system.latency(), accept)

    def _atomic(self, access: Access, lanes: list[int]) -> None:
        system = self.system
        memory = system.memory

        def perform() -> None:
            old_values = []
            for i in lanes:
                address = access.addresses[i]
                size = access.size
                old = memory.read(address, size)
                old_values.append(old)
                step = access.values[i]
                compare = access.compares[i] if access.compares else 0
                new = AtomicOp(access.op, step, size, compare).apply(old)
                if system.fault.now("duplicated atomic"):
                    new = old
                if system.fault.now("skipped atomic"):
                    new = (new + 1) & ((1 << 8 * size) - 1)
                memory.write(address, size, new)
            if system.fault.now("lost atomic"):
                return
            self._later(
                system.latency(),
                lambda: access.client.atomic_done(
                    access, lanes, old_values if access.returns else []
                ),
            )

        self._later(system.latency(), perform)

    def _release(self, access: Access) -> None:
        key = id(access.client)
        if not self._uncompleted.get(key, 0) or self.system.fault.now("early release"):
            self._later(1, lambda: access.client.synchronized(access))
        else:
            self._releases.setdefault(key, []).append(access)

    # ------------------------------------------------------------------ time

    def _later(self, delay: int, do: Callable[[], None]) -> None:
        tick = self.system.engine.now + delay
        self._number += 1
        heapq.heappush(self._events, (tick, self._number, do))
        self.system.engine.schedule(self, tick)

    def wakeup(self) -> None:
        now = self.system.engine.now
        while self._events and self._events[0][0] <= now:
            heapq.heappop(self._events)[2]()


class FakeSystem:
    """As much of a system as the tester looks at."""

    def __init__(
        self,
        initial_byte: Callable[[int], int],
        requesters: int = 2,
        lanes: int = 4,
        line_size: int = 64,
        seed: int = 1,
        fault: Fault | None = None,
        refusals: float = 0.0,
        one_request_per_lane: bool = False,
        longest: int = 30,
    ) -> None:
        self.engine = Engine()
        self.random = random.Random(seed)
        self.fault = fault or Fault("none")
        self.refusals = refusals
        self.line_size = line_size
        self.one_request_per_lane = one_request_per_lane
        self.longest = longest
        self.memory = FakeMemory(initial_byte)
        self.controllers: list[Any] = []
        self.requesters: list[Requester] = [
            FakeRequester(self, index, "gpu", lanes) for index in range(requesters)
        ]

    def latency(self) -> int:
        return 1 + int(self.random.random() * self.longest)

    memory_echoes = False

    def memory_bytes(self, addresses: Sequence[int]) -> list[int]:
        return [self.memory.byte(address) for address in addresses]

    def copies(self, address: int) -> list[Copy]:
        line = address & -self.line_size
        return [Copy("memory", "memory", "", line, self.memory.read(line, self.line_size))]

    def leaks(self) -> list[str]:
        return ["fake.queue: 1 message stalled"] if self.fault.now("leak") else []
