"""The cores of the processor beside a GPU, as a host program uses them.

Invariant: an access of a core goes through the caches of that core, whatever else is under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpu.errors import HostError
from gpu.host.processors.actions import Access, Atomic, Load, Program, Store
from gpu.host.task import Task


class CpuDevice(Protocol):
    """As much of a device as its cores ask for."""

    def start_program(self, program: Program, name: str, port: int) -> Task[Any]: ...

    def run(self, until: Task[Any] | None = None, limit: int | None = None) -> None: ...


class Cpu:
    """One core. Its accesses run the device, kernels included, until they are answered.

    Addresses are multiples of ``size``, which is 1, 2, 4 or 8 bytes, of an atomic 4 or 8. All raise
    HostError for an access that cannot be made, and what `Device.run` raises.
    """

    def __init__(self, device: CpuDevice, number: int, port: int) -> None:
        self._device = device
        self.port = port
        self.number = number

    def __str__(self) -> str:
        return f"CPU {self.number}"

    def load(self, address: int, size: int = 4) -> int:
        """The unsigned number there."""
        found: int = self._perform(Load(address, size))
        return found

    def store(self, address: int, value: int, size: int = 4) -> None:
        """Returns when every observer sees it."""
        self._perform(Store(address, value, size))

    def atomic(
        self, op: str | int, address: int, operand: int, compare: int = 0, size: int = 4
    ) -> int:
        """The old value; see `gpu.host.processors.actions.Atomic`."""
        old: int = self._perform(Atomic(op, address, operand, compare, size))
        return old

    def start(self, program: Callable[..., Program], *arguments: Any) -> Task[Any]:
        """Run a program beside kernels, from the next time on that the device runs.

        ``program(*arguments)`` is a generator, which yields `gpu.host.processors.actions` and is
        resumed with their results. Several programs of one core take turns.
        """
        made = program(*arguments)
        if not hasattr(made, "send"):
            raise HostError(
                f"{self}: a program is a generator, which yields its accesses; this returns "
                f"{made!r}"
            )
        return self._device.start_program(made, str(self), self.port)

    def _perform(self, access: Access) -> Any:
        task = self.start(_once, access)
        self._device.run(until=task)
        return task.result


def _once(access: Access) -> Program:
    return (yield access)
