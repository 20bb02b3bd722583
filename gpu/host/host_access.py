"""A host program's accesses to a device's memory, at rest and while it runs.

Invariant: every later access of the device sees what the host wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpu.dispatch.device_loop import Loop
from gpu.errors import NoProgressError
from gpu.host_wait import HostWait
from gpu.hsa.activities import Pause, Steps
from gpu.memory.interface import Memory
from gpu.packet_processor.control_port import ControlPort
from runtime.types.atomic_op import AtomicKind, AtomicOp

T = TypeVar("T")


class DeviceHost:
    """`gpu.hsa.host_memory.Host` for one process. ``memory``: as it sees it. ``poll``: ticks
    between two reads of a wait."""

    def __init__(
        self,
        loop: Loop,
        memory: Memory,
        control: ControlPort,
        interrupt: Callable[[int], None],
        poll: int,
    ) -> None:
        self.interrupt = interrupt
        self._loop = loop
        self._memory = memory
        self._control = control
        self._poll = poll

    def read(self, address: int, size: int) -> bytes:
        if not self._memory.busy:
            return self._memory.read(address, size)
        return self._perform(self._control.load(address, size))

    def write(self, address: int, data: bytes) -> None:
        found = self._memory.space.find(address)
        if found is not None and found.on_store is not None:
            found.on_store(address, data)
        elif self._memory.busy:
            self._perform(self._control.store(address, data))
        else:
            self._memory.write(address, data)
        self._control.activities.notify()

    def atomic(self, op: int, address: int, operand: int, compare: int = 0, size: int = 8) -> int:
        if self._memory.busy:
            old = self._perform(self._control.atomic(op, address, operand, compare, size))
        else:
            old = int.from_bytes(self._memory.read(address, size), "little")
            new = AtomicOp(op, operand, size, compare if op == AtomicKind.CAS else 0).apply(old)
            self._memory.write(address, new.to_bytes(size, "little"))
        self._control.activities.notify()
        return old

    def wait(
        self, address: int, accept: Callable[[bytes], bool], timeout: int | None, why: str
    ) -> bytes:
        data = self.read(address, 8)
        if accept(data) or timeout == 0:
            return data
        looks = [data]
        activity = self._control.activities.start(self._watch(address, accept, looks))
        how = HostWait.FOR_EVER if timeout is None else HostWait.FOR_A_WHILE
        end = None if timeout is None else self._memory.now + timeout
        try:
            with self._loop.host_waits(how):
                if not self._loop.finish(activity, end) and timeout is None:
                    raise NoProgressError(why, self._loop.waiting)
        finally:
            self._control.activities.cancel(activity)
        return looks[0]

    def _watch(
        self, address: int, accept: Callable[[bytes], bool], looks: list[bytes]
    ) -> Steps[None]:
        activities = self._control.activities
        while True:
            seen, looked = activities.news.count, activities.happened
            looks[0] = yield from self._control.load(address, 8)
            if accept(looks[0]):
                return
            yield Pause(self._poll, activities.news, seen, looked)

    def _perform(self, steps: Steps[T]) -> T:
        """Run the device until a sequence is over; its value."""
        results: list[T] = []
        problems: list[Exception] = []

        def body() -> Steps[None]:
            try:
                results.append((yield from steps))
            except Exception as problem:
                problems.append(problem)

        activity = self._control.activities.start(body())
        with self._loop.host_waits(HostWait.FOR_A_WHILE):
            if not self._loop.finish(activity):
                raise NoProgressError("an access of the host", self._loop.waiting)
        if problems:
            raise problems[0]
        return results[0]
