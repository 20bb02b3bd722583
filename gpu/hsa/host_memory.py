"""How a host program reaches simulated memory.

Invariant: an operation is over when its method returns, whether the device runs or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.types.atomic_op import AtomicOp


class Host(Protocol):
    """Coherent accesses of the host. At rest they take no time; while the device has work under
    way they go through the control port, and the device runs until they are answered."""

    def read(self, address: int, size: int) -> bytes:
        """Raises `gpu.memory.interface.Unmapped`, as the other two do."""

    def write(self, address: int, data: bytes) -> None:
        """Every later reader sees it. Also stores into doorbells."""

    def atomic(self, op: int, address: int, operand: int, compare: int = 0, size: int = 8) -> int:
        """The old value, unsigned; ``op``: a `runtime.types.atomic_op.AtomicKind`."""

    def wait(
        self, address: int, accept: Callable[[bytes], bool], timeout: int | None, why: str
    ) -> bytes:
        """Run the device until the 8 bytes there are accepted, or for ``timeout`` ticks.

        The bytes read last. Raises `gpu.errors.NoProgressError` if they never can be accepted
        and no time-out was given.
        """

    def interrupt(self, message: int) -> None:
        """What a signal's owner sends after it has written the event's id to its mailbox."""


class PrivateHost:
    """A few bytes that belong to no device yet: the memory of a signal until it is bound."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.data[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self.data[address : address + len(data)] = data

    def atomic(self, op: int, address: int, operand: int, compare: int = 0, size: int = 8) -> int:
        old = int.from_bytes(self.read(address, size), "little")
        new = AtomicOp(op, operand, size, compare).apply(old)
        self.write(address, new.to_bytes(size, "little"))
        return old

    def wait(
        self, address: int, accept: Callable[[bytes], bool], timeout: int | None, why: str
    ) -> bytes:
        """No other agent can change it: the current value."""
        return self.read(address, 8)

    def interrupt(self, message: int) -> None:
        """Ignored: no device is interrupted."""
