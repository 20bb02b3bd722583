"""The Python engine behind the ports: one client for each, which issues parts in their order.

Invariant: a client issues only in its own wake-ups, so never in the middle of a transition; what
its requester refuses stays at the head of the queue until the requester calls back.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from gpu.memory.coherent.request_splitting import RequestPart
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.memory.coherent.transition_counts import Executed, executed
from runtime.requesters.port import Access, AnswerKind, Requester
from runtime.sim.engine import Consumer, Engine
from runtime.system.builder import build_completed
from runtime.system.system import AnyRequester, System
from runtime.types.messages import RubyRequest, RubyRequestType
from runtime.types.values import DataBlock

_WORDS: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class PartAccess(Access):
    """An access with the part that it performs.

    ``accepted`` and ``performed``: bytes that are still outstanding (of a load: to arrive).
    """

    __slots__ = ("accepted", "part", "performed")

    part: RequestPart
    accepted: int
    performed: int


class PortClient(Consumer):
    """Issues what it was given at one requester and notes what was answered."""

    __slots__ = ("answers", "line_size", "queue", "requester")

    def __init__(
        self,
        engine: Engine,
        requester: AnyRequester,
        line_size: int,
        answers: list[tuple[RequestPart, AnswerKind]],
    ) -> None:
        super().__init__(engine)
        self.requester = requester
        self.line_size = line_size
        self.answers = answers
        self.queue: deque[PartAccess] = deque()

    def give(self, part: RequestPart) -> None:
        self.queue.append(_access(part, self))

    def wakeup(self) -> None:
        queue = self.queue
        while queue and self.requester.issue(queue[0]):
            queue.popleft()

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)

    def _report(self, part: RequestPart, kind: AnswerKind) -> None:
        self.answers.append((part, kind))
        self.engine.stop()

    # ------------------------------------------------------------------ answers

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        assert isinstance(access, PartAccess), "nothing else is issued here"
        part = access.part
        if self._hit(line):
            part.hits += 1
        else:
            part.misses += 1
        block = np.frombuffer(data.data.to_bytes(self.line_size, "little"), np.uint8)
        if part.result is None:
            part.result = np.empty((len(access.addresses), access.size), np.uint8)
        if access.crosses:
            access.performed -= self._gather(access, part.result, lanes, line, block)
        else:
            offsets = np.array([access.addresses[lane] - line for lane in lanes])
            part.result[lanes] = block[offsets[:, None] + np.arange(access.size)]
            access.performed -= len(lanes) * access.size
        if not access.performed:
            self._report(part, AnswerKind.LOADED)

    def _gather(
        self,
        access: Access,
        result: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
        lanes: list[int],
        line: int,
        block: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
    ) -> int:
        """Take the bytes that a line has of lanes that may cross it; how many there were."""
        count = 0
        for lane in lanes:
            first = access.addresses[lane] - line
            low, high = max(first, 0), min(first + access.size, self.line_size)
            result[lane, low - first : high - first] = block[low:high]
            count += high - low
        return count

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, PartAccess), "nothing else is issued here"
        access.accepted -= self._bytes(access, lanes, line)
        if not access.accepted:
            self._report(access.part, AnswerKind.ACCEPTED)

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        assert isinstance(access, PartAccess), "nothing else is issued here"
        access.performed -= self._bytes(access, lanes, line)
        if not access.performed:
            self._report(access.part, AnswerKind.PERFORMED)

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        assert isinstance(access, PartAccess), "nothing else is issued here"
        part = access.part
        access.performed -= len(lanes) * access.size
        if access.returns:
            if part.result is None:
                part.result = np.empty((len(access.addresses), access.size), np.uint8)
            part.result.view(_WORDS[access.size])[lanes, 0] = old_values
        if not access.performed:
            kind = AnswerKind.OLD_VALUES if access.returns else AnswerKind.PERFORMED
            self._report(part, kind)

    def synchronized(self, access: Access) -> None:
        assert isinstance(access, PartAccess), "nothing else is issued here"
        self._report(access.part, AnswerKind.SYNCHRONIZED)

    def _hit(self, line: int) -> bool:
        """Whether the cache answers a load in the transition that takes it, in the tick in which it
        arrives: it is at the head of the queue, and of a line only one load has been sent."""
        waiting = self.requester.queue.messages
        if not waiting or waiting[0].arrival != self.engine.now:
            return False
        head = waiting[0]
        return (
            isinstance(head, RubyRequest)
            and head.LineAddress == line
            and head.Type in (RubyRequestType.LD, RubyRequestType.IFETCH)
        )

    def _bytes(self, access: Access, lanes: list[int], line: int) -> int:
        if not access.crosses:
            return len(lanes) * access.size
        end = line + self.line_size
        return sum(
            min(access.addresses[lane] + access.size, end) - max(access.addresses[lane], line)
            for lane in lanes
        )


def _access(part: RequestPart, client: PortClient) -> PartAccess:
    request = part.pending.request
    access = PartAccess(
        part.kind,
        client,
        request.tag,
        part.addresses.tolist(),
        part.size,
        () if part.data is None else _numbers(part.data),
        request.op,
        request.returns,
        part.glc,
        part.slc,
        0,
        () if part.compares is None else _numbers(part.compares),
    )
    access.crosses = part.crosses
    access.instruction = part.fetch
    access.part = part
    access.accepted = access.performed = len(access.addresses) * part.size
    return access


def _numbers(data: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> list[int]:
    """One number for each lane."""
    size = data.shape[1]
    if size in _WORDS:
        words: list[int] = np.ascontiguousarray(data).view(_WORDS[size])[:, 0].tolist()
        return words
    return [int.from_bytes(row.tobytes(), "little") for row in data]


class PythonBackend:
    """A built system with a client on every port. ``seed``: of random message delays."""

    def __init__(self, kernel: KernelSystem, seed: int = 0) -> None:
        self.kernel = kernel
        self.system: System = build_completed(kernel.protocol, kernel.description, seed)
        self.system.memory.zeroed = True
        self._line_size = kernel.description.line_size
        self._answers: list[tuple[RequestPart, AnswerKind]] = []
        self._clients = [
            PortClient(
                self.system.engine,
                self.system.requesters[place],
                self._line_size,
                self._answers,
            )
            for place in kernel.requesters()
        ]
        self._given: dict[PortClient, None] = {}

    @property
    def tick(self) -> int:
        return self.system.engine.now

    @property
    def idle(self) -> bool:
        return not self.system.engine.ticks and not self._given

    def quiet(self, last: int) -> bool:
        ticks = self.system.engine.ticks
        return not self._given and bool(ticks) and ticks[0] > last

    def enter(self, part: RequestPart) -> None:
        client = self._clients[part.port]
        client.give(part)
        self._given[client] = None

    def run(self, now: int, last: int | None) -> list[tuple[RequestPart, AnswerKind]]:
        engine = self.system.engine
        for client in self._given:
            engine.schedule(client, now)
        self._given.clear()
        engine.run(last)
        answers = self._answers.copy()
        self._answers.clear()
        return answers

    def peek(self, address: int, size: int) -> bytes:
        memory, line_size = self.system.memory, self._line_size
        first = address & -line_size
        lines = range(first, address + size, line_size)
        found = b"".join(memory.read_line(line).to_bytes(line_size, "little") for line in lines)
        return found[address - first : address - first + size]

    def poke(self, address: int, data: bytes) -> None:
        memory, line_size = self.system.memory, self._line_size
        end = address + len(data)
        first = address & -line_size
        for line in range(first, end, line_size):
            low, high = max(line, address), min(line + line_size, end)
            new = data[low - address : high - address]
            if len(new) < line_size:
                old = memory.read_line(line).to_bytes(line_size, "little")
                new = old[: low - line] + new + old[high - line :]
            memory.write_line(line, int.from_bytes(new, "little"))

    def waiting(self) -> list[str]:
        found = []
        for client in self._clients:
            found += [
                f"{client.requester.name}: {part.access!r} {part.where}"
                for part in client.requester.outstanding()
            ]
            found += [f"{client.requester.name}: {access!r} refused" for access in client.queue]
        return found

    def executed(self) -> Executed:
        controllers = self.system.controllers
        return executed(
            self.kernel, lambda number, state, event: controllers[number].count_of(state, event)
        )
