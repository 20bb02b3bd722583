"""Reads, writes and atomics of the front end, through its own port into memory; reads and writes of
DMA engines through theirs.

Invariant: each access is answered before the sequence continues, so that its next access is ordered
after it for every observer (system scope).
"""

from __future__ import annotations

from typing import Final

from gpu.hsa.activities import Accesses, Activities, Steps, bytes_of, one_atomic, one_lane
from gpu.memory.address_space import AddressSpace
from gpu.memory.interface import Memory, PortKind
from runtime.requesters.port import AccessKind

LINE: Final = 64


def control_port(memory: Memory) -> int:
    """Index of the port of the front end. Raises ValueError if the memory has none."""
    for port in memory.ports:
        if port.kind is PortKind.CONTROL:
            return port.index
    raise ValueError("the memory has no control port")


def pieces(address: int, size: int) -> list[tuple[int, int]]:
    """Address and size of the parts of a range, none of which crosses a line."""
    parts = []
    while size:
        part = min(size, LINE - address % LINE)
        parts.append((address, part))
        address += part
        size -= part
    return parts


class ControlPort:
    """Accesses as steps of a sequence: ``data = yield from control.load(address, 64)``.

    All raise `Unmapped` where the address is not mapped or may not be used so. ``port``: the index
    of another one than the front end's. ``vmid``, ``space``: whose addresses it takes, and what is
    mapped there; the device's own by default.
    """

    def __init__(
        self,
        activities: Activities,
        port: int | None = None,
        vmid: int = 0,
        space: AddressSpace | None = None,
    ) -> None:
        self.activities = activities
        self.port = control_port(activities.memory) if port is None else port
        self.vmid = vmid
        self.space = activities.memory.space if space is None else space

    def at(self, port: int) -> ControlPort:
        """The accesses of this object, through another port."""
        return ControlPort(self.activities, port, self.vmid, self.space)

    def load(self, address: int, size: int) -> Steps[bytes]:
        """Bytes; more than a line is read line by line, all at once."""
        parts = yield from self.load_all(pieces(address, size))
        return b"".join(parts)

    def load_all(self, places: list[tuple[int, int]]) -> Steps[list[bytes]]:
        """Several places (address, size) at once, each within a line."""
        requests = [
            one_lane(self.port, AccessKind.LOAD, address, size, vmid=self.vmid)
            for address, size in places
        ]
        data: list[bytes] = yield Accesses(requests)
        return data

    def load_int(self, address: int, size: int = 8, signed: bool = False) -> Steps[int]:
        """A little-endian number."""
        data = yield from self.load(address, size)
        return int.from_bytes(data, "little", signed=signed)

    def store(self, address: int, data: bytes) -> Steps[None]:
        """Write; returns when every observer sees it."""
        requests = []
        for start, size in pieces(address, len(data)):
            part = data[start - address : start - address + size]
            requests.append(
                one_lane(self.port, AccessKind.STORE, start, size, part, vmid=self.vmid)
            )
        yield Accesses(requests)

    def store_int(self, address: int, value: int, size: int = 8) -> Steps[None]:
        """Write a little-endian number, modulo its size."""
        yield from self.store(address, bytes_of(value, size))

    def atomic(
        self, op: int, address: int, operand: int, compare: int = 0, size: int = 8
    ) -> Steps[int]:
        """The old value, unsigned; ``op``: a `runtime.types.atomic_op.AtomicKind`."""
        request = one_atomic(self.port, op, address, operand, compare, size, vmid=self.vmid)
        data: list[bytes] = yield Accesses([request])
        return int.from_bytes(data[0], "little")
