"""Recordings as files: what ``gcn run --record`` writes and ``gcn replay`` reads.

The format is in docs/gpu-memory.md, "Recording". Invariant: what is loaded is what was saved, or
`BadRecording` says what is wrong with the file; a request of a loaded recording has the shape that
its kind needs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np

from gpu.memory.address_space import LAST_ADDRESS, PAGE, Allocation, MemoryType
from gpu.memory.coherent.recording import HostAccess, Recording, mute
from gpu.memory.interface import (
    Data,
    MemoryRequest,
    PortKind,
    Ports,
)
from gpu.memory.request_validation import check_shape
from runtime.files import read_bounded
from runtime.requesters.port import AccessKind
from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass

MAGIC: Final = b"gcn recording "
VERSION: Final = b"1\n"
_MOST: Final = 1024
"""Of what has a port of its own: see `Origin.counts`."""
_GLC: Final = 1
_SLC: Final = 2
_RETURNS: Final = 4
LARGEST_FILE: Final = 1 << 30
_MOST_TICKS: Final = 1 << 62
_ADDRESS: Final = np.dtype("<u8")
_MAYBE: Final = (bytes, type(None))
_ALLOCATION: Final[Mapping[str, tuple[type, ...]]] = {
    "start": (int,),
    "bytes": (int,),
    "end": (int,),
    "name": (str,),
    "type": (str,),
    "writable": (bool,),
    "doorbell": (bool,),
}
_HOST_ACCESS: Final[Mapping[str, tuple[type, ...]]] = {
    "tick": (int,),
    "address": (int,),
    "bytes": (int,),
    "data": _MAYBE,
}
_REQUEST: Final[Mapping[str, tuple[type, ...]]] = {
    "tick": (int,),
    "port": (int,),
    "kind": (int,),
    "bytes a lane": (int,),
    "operation": (int,),
    "bits": (int,),
    "addresses": (bytes,),
    "data": _MAYBE,
    "comparands": _MAYBE,
}


class BadRecording(Exception):
    """A file that is no recording, or not a whole one; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The options of the system that was recorded, and its clock at the end.

    ``system``: path of its description, "" for the protocol's own; ``settings``: fields of it that
    were set. ``tccs``: 0 for as many as the description has. ``sqcs``: pairs of scalar and fetch
    ports. ``cpus``, ``dmas``: ports of cores and DMA engines, of which older files say
    nothing.
    """

    protocol: str
    cus: int
    sqcs: int
    tccs: int
    seed: int
    system: str
    settings: dict[str, Any]
    ticks: int
    cpus: int = 0
    dmas: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """What `Ports` are made of."""
        return self.cus, self.sqcs, self.cpus, self.dmas

    @staticmethod
    def in_words(counts: tuple[int, int, int, int]) -> str:
        """Such counts for the user."""
        return "{} compute units, {} SQCs, {} cores, {} DMA engines".format(*counts)


def save(recording: Recording, origin: Origin, path: Path) -> None:
    """Raises OSError."""
    content = {
        "origin": asdict(origin),
        "allocations": [_allocation_row(place) for place in recording.allocations],
        "events": [_event_row(tick, event) for tick, event in recording.events],
    }
    packed: bytes = msgpack.packb(content)
    write_whole(path, MAGIC + VERSION + zlib.crc32(packed).to_bytes(4, "little") + packed)


def load(path: Path) -> tuple[Recording, Origin]:
    """Raises `BadRecording`, OSError."""
    data = read_bounded(path, LARGEST_FILE)
    if len(data) > LARGEST_FILE:
        raise BadRecording(f"{path}: larger than the {LARGEST_FILE:,} bytes that are read")
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
        content = _content(packed)
        origin = _origin(content["origin"])
        recording = _recording(content["allocations"], content["events"], origin)
    except ValueError as error:
        raise BadRecording(f"{path}: {error}") from None
    return recording, origin


def _content(packed: bytes) -> dict[str, Any]:
    try:
        content = msgpack.unpackb(packed)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        raise ValueError("its content is not MessagePack") from None
    if not isinstance(content, dict) or not {"origin", "allocations", "events"} <= content.keys():
        raise ValueError("its content is no map of origin, allocations and events")
    return content


def _origin(values: Any) -> Origin:
    names = [field.name for field in fields(Origin)]
    if isinstance(values, dict):
        values = {"cpus": 0, "dmas": 0, **values}
    if not isinstance(values, dict) or values.keys() != set(names):
        raise ValueError(f"origin: no map of {', '.join(names)}")
    origin = Origin(**values)
    for field in fields(Origin):
        value = getattr(origin, field.name)
        if type(value).__name__ != str(field.type).partition("[")[0]:
            raise ValueError(f"origin: {field.name} = {_shown(value)}")
        if isinstance(value, int) and not 0 <= value < _MOST_TICKS:
            raise ValueError(f"origin: {field.name} = {value}")
    for name in origin.settings:
        if not isinstance(name, str):
            raise ValueError(f"origin: a setting of {_shown(name)}")
    counts = origin.counts
    if not (origin.cus and origin.sqcs) or max(counts) > _MOST:
        raise ValueError(f"origin: {Origin.in_words(counts)}")
    return origin


def _recording(allocations: Any, events: Any, origin: Origin) -> Recording:
    recording = Recording()
    kinds = [port.kind for port in Ports(*origin.counts)]

    end = 0

    def mapped(row: Any) -> None:
        nonlocal end
        place = _allocation(row)
        if place.start < end:
            raise ValueError(f"{place} is not behind the one before")
        end = place.end
        recording.keep(place)

    def happened(row: Any) -> None:
        tick, event = _event(row, kinds)
        before = recording.events[-1][0] if recording.events else 0
        if not before <= tick < _MOST_TICKS:
            raise ValueError(f"tick {tick}, after tick {before}")
        recording.events.append((tick, event))

    _each(allocations, "allocation", mapped)
    _each(events, "event", happened)
    return recording


def _each(rows: Any, what: str, take: Callable[[Any], object]) -> None:
    if not isinstance(rows, list):
        raise ValueError(f"{what}s: {_shown(rows)} is no list")
    for number, row in enumerate(rows):
        try:
            take(row)
        except ValueError as error:
            raise ValueError(f"{what} {number}: {error}") from None


# ---------------------------------------------------------------- rows


def _allocation_row(place: Allocation) -> list[Any]:
    bell = place.on_store is not None
    kind = place.memory_type.value
    return [place.start, place.size, place.end, place.name, kind, place.writable, bell]


def _allocation(row: Any) -> Allocation:
    _check(row, _ALLOCATION)
    start, size, end, name, kind, writable, bell = row
    whole = not start % PAGE and not end % PAGE
    if not (whole and start < end <= LAST_ADDRESS and 0 < size <= end - start):
        raise ValueError(f"{size} bytes from {start} to {end} are not whole pages")
    on_store = mute if bell else None
    base = np.array(start, np.uint64)
    return Allocation(start, size, end, name, MemoryType(kind), writable, on_store, base)


def _event_row(tick: int, event: MemoryRequest | HostAccess) -> list[Any]:
    if isinstance(event, HostAccess):
        return [tick, event.address, event.size, event.data]
    flags = _GLC * event.glc | _SLC * event.slc | _RETURNS * event.returns
    return [
        tick,
        event.port,
        event.kind,
        event.size,
        int(event.op),
        flags,
        event.addresses.astype("<u8").tobytes(),
        None if event.data is None else event.data.tobytes(),
        None if event.compares is None else event.compares.tobytes(),
    ]


def _event(row: Any, ports: list[PortKind]) -> tuple[int, MemoryRequest | HostAccess]:
    if isinstance(row, list) and len(row) == len(_HOST_ACCESS):
        _check(row, _HOST_ACCESS)
        tick, address, size, data = row
        if data is not None and len(data) != size:
            raise ValueError(f"{len(data)} bytes written, not {size}")
        return tick, HostAccess(address, size, data)
    _check(row, _REQUEST)
    tick, port, kind, size, op, flags, addresses, data, compares = row
    if len(addresses) % _ADDRESS.itemsize:
        raise ValueError(f"{len(addresses)} bytes of addresses")
    if kind >= AccessKind.NUM:
        raise ValueError(f"kind: {kind}")
    lanes = np.frombuffer(addresses, _ADDRESS).astype(np.uint64)
    request = MemoryRequest(port, kind, 0, lanes, size, op=op)
    request.data = _lanes_of(data, len(lanes), size)
    request.compares = _lanes_of(compares, len(lanes), size)
    request.glc = bool(flags & _GLC)
    request.slc = bool(flags & _SLC)
    request.returns = bool(flags & _RETURNS)
    check_shape(request, ports)
    return tick, request


def _lanes_of(data: bytes | None, lanes: int, size: int) -> Data | None:
    if data is None:
        return None
    if len(data) != lanes * size:
        raise ValueError(f"{len(data)} bytes of data, not {size} for each of {lanes} lanes")
    return np.frombuffer(data, np.uint8).reshape(lanes, size)


def _check(row: Any, columns: Mapping[str, tuple[type, ...]]) -> None:
    """That a row has values of those types; numbers are of 64 bits and have no sign."""
    if not isinstance(row, list) or len(row) != len(columns):
        raise ValueError(f"{_shown(row)} is no row of {', '.join(columns)}")
    for value, (name, types) in zip(row, columns.items(), strict=True):
        if type(value) not in types or (type(value) is int and value < 0):
            raise ValueError(f"{name}: {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
