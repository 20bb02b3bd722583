"""The DMA engines of a device, as a host program uses them.

Invariant: a copy that is refused has copied nothing.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

from gpu.errors import HostError
from gpu.host.task import Task
from gpu.hsa.activities import Activities, Steps
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.dma_copy import copy

T = TypeVar("T")
_ADDRESSES: Final = 1 << 64


class DmaDevice(Protocol):
    """As much of a device as its engines ask for."""

    @property
    def activities(self) -> Activities: ...

    def port(self, index: int) -> ControlPort: ...

    def start_task(self, what: str, steps: Steps[T]) -> Task[T]: ...

    def run(self, until: Task[Any] | None = None, limit: int | None = None) -> None: ...


class Dma:
    """One engine. Copies that are under way at the same time take turns at its port."""

    def __init__(self, device: DmaDevice, number: int, port: int) -> None:
        self._device = device
        self.number = number
        self.port = device.port(port)
        """Its loads and stores as steps of a sequence, for what is made of them."""

    def __str__(self) -> str:
        return f"DMA engine {self.number}"

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy bytes from address to address; the device runs meanwhile, kernels included.

        Raises HostError for ranges that overlap, are not mapped, or may not be written.
        """
        self._device.run(until=self.start(destination, source, size))

    def start(self, destination: int, source: int, size: int) -> Task[None]:
        """Begin a copy that goes on whenever the device runs. Raises HostError as `copy` does."""
        self._check(destination, source, size)
        return self._device.start_task(f"a copy of {self}", self._copied(destination, source, size))

    def _copied(self, destination: int, source: int, size: int) -> Steps[None]:
        yield from copy(self.port, destination, source, size)
        self._device.activities.notify()

    def _check(self, destination: int, source: int, size: int) -> None:
        for what, value in (("destination", destination), ("source", source), ("size", size)):
            if not isinstance(value, int) or not 0 <= value < _ADDRESSES:
                raise HostError(f"{self}: the {what} is no number of 64 bits: {value!r}")
        if size < 1:
            raise HostError(f"{self}: a copy has 1 byte or more, not {size}")
        if abs(destination - source) < size:
            raise HostError(
                f"{self}: {size} bytes from {source:#x} overlap those at {destination:#x}"
            )
        space = self.port.space
        try:
            space.at(source, size, loads=True)
            space.at(destination, size, loads=True, writes=True)
        except Unmapped as error:
            raise HostError(f"{self}: {error}") from None
