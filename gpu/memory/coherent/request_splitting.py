"""Requests split into the accesses that requesters take, and their answers reassembled.

Invariant: every byte of a request that goes to the caches is in exactly one part; a request is
answered once for each kind of answer it has, when the last of its parts is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Addresses, Allocation, MemoryType
from gpu.memory.interface import Data, MemoryRequest, PortKind, Ports
from gpu.wave_size import LANES as LANES
from runtime.requesters.base import BYTES_MASK
from runtime.requesters.port import AccessKind, AnswerKind

_COALESCED: Final = tuple(sorted(BYTES_MASK, reverse=True))
_SEQUENCED: Final = (16, 8, 4, 2, 1)
_ALL_LANES: Final = tuple(np.arange(n, dtype=np.uint8) for n in range(LANES + 1))
for _lanes in _ALL_LANES:
    _lanes.flags.writeable = False

Index = npt.NDArray[np.int64]


def all_lanes(count: int) -> npt.NDArray[np.uint8]:
    """0 to ``count`` - 1, shared and not to be written."""
    return _ALL_LANES[count]


class UnderWay(NamedTuple):
    """An unanswered request. ``address``: of the first lane. ``since``: the tick in which it was
    made."""

    port: int
    kind: int
    lanes: int
    address: int
    since: int

    def text(self, ports: Ports) -> str:
        """For a list of them."""
        port = ports[self.port]
        place = f" from {self.address:#x}" if self.lanes else ""
        return (
            f"{port.kind.value} port {port.number}: {AccessKind.name_of(self.kind)} of "
            f"{self.lanes} lanes{place}"
        )


class PendingRequest:
    """A request that is not completely answered. ``left``: parts that still have to give each kind
    of answer.

    ``data``: uint8, shape (lanes, size), what has come so far of what a load or an atomic returns.
    ``hits`` and ``misses``: as in `gpu.memory.interface.Answer`.
    """

    __slots__ = ("data", "hits", "issued", "left", "misses", "request")

    def __init__(self, request: MemoryRequest, issued: int) -> None:
        self.request = request
        self.issued = issued
        self.data: Data | None = None
        self.left: dict[AnswerKind, int] = {}
        self.hits = self.misses = 0

    def begin(self, parts: int) -> None:
        """The request has so many parts."""
        self.left = dict.fromkeys(answers_of(self.request), parts)

    def answered(self, kind: AnswerKind) -> bool:
        """One part has given that answer; returns whether it was the last one."""
        assert self.left[kind] > 0, "a part gives each kind of answer once"
        left = self.left[kind] - 1
        if left:
            self.left[kind] = left
            return False
        del self.left[kind]
        return True


def answers_of(request: MemoryRequest) -> tuple[AnswerKind, ...]:
    """The kinds of answers that a request has, in the order in which they come."""
    kind = request.kind
    if kind == AccessKind.LOAD:
        return _LOADED
    if kind == AccessKind.STORE:
        return _STORED
    if kind == AccessKind.ATOMIC:
        return _OLD_VALUES if request.returns else _PERFORMED
    return _SYNCHRONIZED


_LOADED: Final = (AnswerKind.LOADED,)
_STORED: Final = (AnswerKind.ACCEPTED, AnswerKind.PERFORMED)
_OLD_VALUES: Final = (AnswerKind.OLD_VALUES,)
_PERFORMED: Final = (AnswerKind.PERFORMED,)
_SYNCHRONIZED: Final = (AnswerKind.SYNCHRONIZED,)


@dataclass(slots=True, eq=False)
class RequestPart:
    """What one requester takes as one access.

    ``kind``: the kind of request; that of the request, or ACQUIRE. ``addresses`` (n,), ``size``,
    ``data`` and ``compares`` (n, size) as in a request; ``places``: where each lane's bytes stand
    among those of the request (None: the part has them all, in their order). ``crosses``: a lane
    reaches into the next line. ``result``: the data returned, (n, size). ``hits`` and ``misses``:
    of the lines of a load.
    """

    pending: PendingRequest
    kind: int
    port: int
    addresses: Addresses
    size: int
    data: Data | None = None
    compares: Data | None = None
    places: Index | None = None
    glc: bool = False
    slc: bool = False
    crosses: bool = False
    fetch: bool = False
    result: Data | None = None
    hits: int = 0
    misses: int = 0

    def deliver(self) -> None:
        """Copy ``result`` to its place in the request's data."""
        pending = self.pending
        pending.hits += self.hits
        pending.misses += self.misses
        request = pending.request
        assert self.result is not None, "the engine has filled it in"
        if self.places is None:
            pending.data = self.result
            if self.size != request.size:
                pending.data = self.result.reshape(-1, request.size)
            return
        if pending.data is None:
            pending.data = np.zeros((len(request.addresses), request.size), np.uint8)
        assert len(self.places) == len(self.result)
        flat = pending.data.reshape(-1)
        flat[self.places[:, None] + np.arange(self.size)] = self.result


class Cutter:
    """Makes parts of requests. ``line_size``: bytes."""

    def __init__(self, line_size: int) -> None:
        self.line_size = line_size

    def whole(
        self, pending: PendingRequest, kind: PortKind, place: Allocation
    ) -> list[RequestPart]:
        """Parts of a request whose lanes are all in one allocation."""
        return self._cut(pending, kind, place.memory_type, None)

    def mixed(
        self, pending: PendingRequest, kind: PortKind, places: list[Allocation]
    ) -> tuple[list[RequestPart], list[int]]:
        """Parts of a request with lanes anywhere; also the lanes that are stores to doorbells."""
        groups: dict[MemoryType, list[int]] = {}
        doorbells = []
        for lane, place in enumerate(places):
            if place.on_store is not None:
                doorbells.append(lane)
            else:
                groups.setdefault(place.memory_type, []).append(lane)
        parts = []
        for memory_type, lanes in groups.items():
            chosen = None if len(lanes) == len(places) else np.array(lanes, np.int64)
            parts += self._cut(pending, kind, memory_type, chosen)
        return parts, doorbells

    def _cut(
        self, pending: PendingRequest, kind: PortKind, memory_type: MemoryType, lanes: Index | None
    ) -> list[RequestPart]:
        request = pending.request
        addresses: Addresses = request.addresses
        size = request.size
        glc = request.glc or kind is PortKind.CONTROL or memory_type is MemoryType.UC
        slc = request.slc or memory_type.bypasses
        sequenced = kind is not PortKind.VECTOR and kind is not PortKind.CONTROL
        part = RequestPart(
            pending,
            request.kind,
            request.port,
            addresses,
            size,
            request.data,
            request.compares,
            None,
            glc,
            slc,
            False,
            kind is PortKind.FETCH,
        )
        piece = size
        if sequenced:
            offset = int(addresses[0]) & self.line_size - 1
            whole = kind is PortKind.DMA and offset + size <= self.line_size
            piece = size if whole else piece_of(offset, size, self.line_size)
        elif size not in BYTES_MASK:
            piece = next(piece for piece in _COALESCED if size % piece == 0)
        if lanes is not None or len(addresses) * size > LANES * piece:
            parts = _several(part, lanes, piece)
        else:
            parts = [part]
            if piece < size:
                part.addresses = (addresses[:, None] + _steps(size, piece)).reshape(-1)
                part.size = piece
                part.data = None if part.data is None else part.data.reshape(-1, piece)
                part.compares = None if part.compares is None else part.compares.reshape(-1, piece)
        if not sequenced and (request.extent is None or request.extent.crosses):
            for part in parts:
                part.crosses = self._crosses(part.addresses, piece)
        return parts

    def _crosses(self, addresses: Addresses, size: int) -> bool:
        if not size & size - 1 and not int(np.bitwise_or.reduce(addresses)) & size - 1:
            return False  # all are aligned
        last: Any = addresses & np.uint64(self.line_size - 1)
        return bool(np.maximum.reduce(last) > self.line_size - size)


@cache
def piece_of(offset: int, size: int, line_size: int) -> int:
    """Bytes of the pieces that a sequencer takes of ``size`` ones at an offset in a line."""
    first = line_size - offset
    return next(
        piece for piece in _SEQUENCED if size % piece == 0 and (first >= size or first % piece == 0)
    )


@cache
def _steps(size: int, piece: int) -> Addresses:
    steps: Addresses = np.arange(0, size, piece, dtype=np.uint64)
    steps.flags.writeable = False
    return steps


def _several(part: RequestPart, lanes: Index | None, piece: int) -> list[RequestPart]:
    """Parts of so many pieces as a requester takes, of some lanes of one or of all."""
    size = part.size
    if lanes is None:
        lanes = np.arange(len(part.addresses), dtype=np.int64)
    steps = _steps(size, piece)
    starts = (part.addresses[lanes][:, None] + steps).reshape(-1)
    places = (lanes[:, None] * size + steps.astype(np.int64)).reshape(-1)
    columns = places[:, None] + np.arange(piece)
    parts = []
    for first in range(0, len(starts), LANES):
        some = slice(first, first + LANES)
        other = replace(part, addresses=starts[some], size=piece, places=places[some])
        other.data = _bytes(part.data, columns[some])
        other.compares = _bytes(part.compares, columns[some])
        parts.append(other)
    return parts


def _bytes(data: Data | None, columns: Index) -> Data | None:
    return None if data is None else np.ascontiguousarray(data).reshape(-1)[columns]
