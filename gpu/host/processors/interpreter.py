"""A program of a processor, carried out beside kernels.

Its accesses go through the port of one core, so the caches of the protocol serve them; what it does
between two of them takes no time. Invariant: accesses are made in the order of the program, each
after the answers to the one before; those of one list are under way at once.
"""

from __future__ import annotations

from typing import Any, Final

from gpu.dispatch.device_loop import Loop
from gpu.errors import GpuError, HostError
from gpu.host.processors.actions import (
    Access,
    Action,
    Atomic,
    Load,
    Program,
    Sleep,
    Store,
    Wait,
)
from gpu.hsa.activities import Accesses, Pause, Steps, bytes_of, one_atomic, one_lane
from gpu.memory.address_space import Unmapped
from gpu.memory.interface import MemoryRequest
from runtime.requesters.port import AccessKind

MOST_ACTIONS: Final = 1_000_000
"""Of one program; one that polls memory in a loop of its own would never end."""


class Interpreter:
    """``name``: of the core, in messages. ``port``: its. ``poll``: ticks between two loads of a
    `Wait`. ``vmid``: whose addresses the program has."""

    def __init__(
        self, program: Program, name: str, port: int, loop: Loop, poll: int, vmid: int = 0
    ) -> None:
        self.name = name
        self._program = program
        self._port = port
        self._vmid = vmid
        self._loop = loop
        self._observer = loop.observer
        self._poll = poll
        self._actions = 0

    def run(self) -> Steps[Any]:
        """Carry out the program; what it returns. Errors of its accesses are raised in it."""
        result: Any = None
        problem: GpuError | None = None
        while True:
            try:
                action = self._next_action(result, problem)
            except StopIteration as end:
                return end.value
            try:
                result, problem = (yield from self._carry_out(action)), None
            except GpuError as error:
                problem = error

    def _next_action(self, result: Any, problem: GpuError | None) -> Action:
        """Let the program compute; it must not run the device meanwhile."""
        self._loop.inside = self.name
        try:
            if problem is not None:
                return self._program.throw(problem)
            return self._program.send(result)
        finally:
            self._loop.inside = None

    def _carry_out(self, action: Action) -> Steps[Any]:
        self._actions += 1
        if self._actions > MOST_ACTIONS:
            raise HostError(
                f"{self.name}: {MOST_ACTIONS:,} steps of a program, and no end; a `Wait` polls "
                "memory in one"
            )
        match action:
            case Load() | Store() | Atomic():
                return (yield from self._perform([action]))[0]
            case Wait():
                return (yield from self._wait(action))
            case Sleep(ticks):
                yield Pause(ticks)
            case list() | tuple() if all(isinstance(each, Access) for each in action):
                return (yield from self._perform([*action]))
            case _:
                raise HostError(
                    f"{self.name}: a program yields Load, Store, Atomic, Wait, Sleep or a list of "
                    f"accesses, not {action!r}"
                )

    # ------------------------------------------------------------------ memory

    def _perform(self, accesses: list[Access]) -> Steps[list[int | None]]:
        """The values of loads and atomics, None for stores."""
        requests = [self._request(access) for access in accesses]
        try:
            found: list[bytes] = yield Accesses(requests)
        except Unmapped as error:
            raise HostError(f"{self.name}: {error}") from None
        if any(not isinstance(access, Load) for access in accesses):
            self._loop.activities.notify()
        return [
            None if isinstance(access, Store) else int.from_bytes(data, "little")
            for access, data in zip(accesses, found, strict=True)
        ]

    def _request(self, access: Access) -> MemoryRequest:
        address, size, vmid = access.address, access.size, self._vmid
        match access:
            case Load():
                return one_lane(self._port, AccessKind.LOAD, address, size, vmid=vmid)
            case Store(value=value):
                data = bytes_of(value, size)
                return one_lane(self._port, AccessKind.STORE, address, size, data, vmid=vmid)
            case Atomic(operand=operand, compare=compare):
                assert access.kind is not None, "an action has been checked"
                op = access.kind
                return one_atomic(self._port, op, address, operand, compare, size, vmid)

    def _wait(self, wait: Wait) -> Steps[int]:
        activities = self._loop.activities
        why = f"{self.name} waits for {wait.size} bytes at {wait.address:#x}"
        self._observer.acting -= 1
        self._observer.progress()
        try:
            while True:
                seen, looked = activities.news.count, activities.happened
                (value,) = yield from self._perform([Load(wait.address, wait.size)])
                assert value is not None, "a load gives a value"
                if wait.ends_with(value):
                    return value
                yield Pause(self._poll, activities.news, seen, looked, f"{why}, which hold {value}")
        finally:
            self._observer.acting += 1
