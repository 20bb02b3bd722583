"""Recordings as files: what ``gcn run --record`` writes and ``gcn replay`` reads.

The format is in docs/gpu-memory.md, "Recording". Invariant: what is loaded is what was saved, or
`BadRecording` says what is wrong with the file; a request of a loaded recording has the shape that
its kind needs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np

from gpu.memory.address_space import PAGE, Allocation, MemoryType
from gpu.memory.interface import PortKind, Ports, Request, RequestKind
from gpu.memory.recording import HostAccess, Recording, mute
from gpu.memory.request_check import check_shape

MAGIC: Final = b"gcn recording "
VERSION: Final = b"1\n"
_MOST: Final = 1024
"""Compute units, or SQCs."""
_GLC: Final = 1
_SLC: Final = 2
_RETURNS: Final = 4


class BadRecording(Exception):
    """A file that is no recording, or not a whole one; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The system that was recorded, as it was asked for, and where its clock stood at the end.

    ``system``: path of its description, "" for the protocol's own; ``settings``: fields of it that
    were set. ``tccs``: 0 for as many as the description has. ``sqcs``: pairs of scalar and fetch
    ports.
    """

    protocol: str
    cus: int
    sqcs: int
    tccs: int
    seed: int
    system: str
    settings: dict[str, Any]
    ticks: int


def save(recording: Recording, origin: Origin, path: Path) -> None:
    """Raises OSError."""
    content = {
        "origin": asdict(origin),
        "allocations": [_allocation_row(place) for place in recording.allocations],
        "events": [_event_row(tick, event) for tick, event in recording.events],
    }
    packed: bytes = msgpack.packb(content)
    path.write_bytes(MAGIC + VERSION + zlib.crc32(packed).to_bytes(4, "little") + packed)


def load(path: Path) -> tuple[Recording, Origin]:
    """Raises `BadRecording`, OSError."""
    data = path.read_bytes()
    start = len(MAGIC) + len(VERSION)
    if not data.startswith(MAGIC):
        raise BadRecording(f"{path}: no recording: it does not begin with {MAGIC.decode()!r}")
    if data[len(MAGIC) : start] != VERSION:
        found = data[len(MAGIC) : start].decode("ascii", "replace").strip()
        known = VERSION.decode().strip()
        raise BadRecording(f"{path}: a recording of version {found!r}; version {known} is read")
    packed = data[start + 4 :]
    if zlib.crc32(packed) != int.from_bytes(data[start : start + 4], "little"):
        raise BadRecording(
            f"{path}: cut off or damaged: its {len(packed):,} bytes have another sum"
        )
    try:
        content = msgpack.unpackb(packed)
        origin = Origin(**content["origin"])
        allocations, events = content["allocations"], content["events"]
    except (ValueError, TypeError, KeyError) as slip:
        raise BadRecording(f"{path}: not understood: {slip!r}") from None
    for field in fields(Origin):
        value = getattr(origin, field.name)
        if type(value).__name__ != str(field.type).partition("[")[0]:
            raise BadRecording(f"{path}: origin: {field.name} = {value!r}")
    if not (1 <= origin.cus <= _MOST and 1 <= origin.sqcs <= _MOST):
        raise BadRecording(f"{path}: origin: {origin.cus} compute units, {origin.sqcs} SQCs")
    recording = Recording()
    try:
        ports = Ports(origin.cus, origin.sqcs)
        kinds = [port.kind for port in ports]
        _fill(allocations, "allocation", lambda row: recording.keep(_allocation(row)))
        _fill(events, "event", lambda row: recording.events.append(_event(row, kinds)))
    except (ValueError, TypeError) as slip:
        raise BadRecording(f"{path}: {slip}") from None
    return recording, origin


def _fill(rows: Any, what: str, take: Callable[[Any], object]) -> None:
    for number, row in enumerate(rows):
        try:
            take(row)
        except (ValueError, TypeError, OverflowError) as slip:
            raise ValueError(f"{what} {number}: {slip}") from None


# ---------------------------------------------------------------- rows


def _allocation_row(place: Allocation) -> list[Any]:
    bell = place.on_store is not None
    kind = place.memory_type.value
    return [place.start, place.size, place.end, place.name, kind, place.writable, bell]


def _allocation(row: Any) -> Allocation:
    start, size, end, name, kind, writable, bell = row
    if not 0 <= start < end or start % PAGE or end % PAGE or not 0 < size <= end - start:
        raise ValueError(f"{size} bytes from {start} to {end} are not whole pages")
    on_store = mute if bell else None
    base = np.array(start, np.uint64)
    return Allocation(start, size, end, str(name), MemoryType(kind), bool(writable), on_store, base)


def _event_row(tick: int, event: Request | HostAccess) -> list[Any]:
    if isinstance(event, HostAccess):
        return [tick, event.address, event.size, event.data]
    flags = _GLC * event.glc | _SLC * event.slc | _RETURNS * event.returns
    return [
        tick,
        event.port,
        int(event.kind),
        event.size,
        int(event.op),
        flags,
        event.addresses.astype("<u8").tobytes(),
        None if event.data is None else event.data.tobytes(),
        None if event.compares is None else event.compares.tobytes(),
    ]


def _event(row: Any, ports: list[PortKind]) -> tuple[int, Request | HostAccess]:
    if len(row) == 4:
        tick, address, size, data = row
        if data is not None and len(data) != size:
            raise ValueError(f"{len(data)} bytes written, not {size}")
        return int(tick), HostAccess(int(address), int(size), data)
    tick, port, kind, size, op, flags, addresses, data, compares = row
    lanes = np.frombuffer(addresses, "<u8").astype(np.uint64)
    request = Request(int(port), RequestKind(kind), 0, lanes, int(size), op=int(op))
    request.data = None if data is None else np.frombuffer(data, np.uint8).reshape(-1, size)
    request.compares = (
        None if compares is None else np.frombuffer(compares, np.uint8).reshape(-1, size)
    )
    request.glc = bool(flags & _GLC)
    request.slc = bool(flags & _SLC)
    request.returns = bool(flags & _RETURNS)
    check_shape(request, ports)
    return int(tick), request
