"""A request cut into what requesters take, and its answers put together again.

Invariant: every byte of a request that goes to the caches is in exactly one part; a request is
answered once for each kind of answer it has, when the last of its parts is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Allocation, MemoryType
from gpu.memory.interface import Addresses, AnswerKind, Data, PortKind, Request, RequestKind
from runtime.requester_base import BYTES_MASK

LANES: Final = 64
_COALESCED: Final = tuple(sorted(BYTES_MASK, reverse=True))
_SEQUENCED: Final = (16, 8, 4, 2, 1)
_ALL_LANES: Final = tuple(np.arange(n, dtype=np.uint8) for n in range(LANES + 1))
for _lanes in _ALL_LANES:
    _lanes.flags.writeable = False

Index = npt.NDArray[np.int64]


def all_lanes(count: int) -> npt.NDArray[np.uint8]:
    """0 to ``count`` - 1, shared and not to be written."""
    return _ALL_LANES[count]


class Flight:
    """A request on its way. ``left``: parts that still have to give each kind of answer.

    ``data``: uint8, shape (lanes, size), what has come so far of what a load or an atomic returns.
    """

    __slots__ = ("data", "issued", "left", "request")

    def __init__(self, request: Request, parts: int, issued: int) -> None:
        self.request = request
        self.issued = issued
        self.data: Data | None = None
        self.left = dict.fromkeys(answers_of(request.kind, request.returns), parts)

    def answered(self, kind: AnswerKind) -> bool:
        """One part has given that answer; whether it was the last one."""
        self.left[kind] -= 1
        return not self.left[kind]

    @property
    def over(self) -> bool:
        return not any(self.left.values())


def answers_of(kind: RequestKind, returns: bool) -> tuple[AnswerKind, ...]:
    """The kinds of answers that a request has, in the order in which they come."""
    if kind == RequestKind.LOAD:
        return (AnswerKind.LOADED,)
    if kind == RequestKind.STORE:
        return (AnswerKind.ACCEPTED, AnswerKind.PERFORMED)
    if kind == RequestKind.ATOMIC:
        return (AnswerKind.OLD_VALUES if returns else AnswerKind.PERFORMED,)
    return (AnswerKind.SYNCHRONIZED,)


@dataclass(slots=True, eq=False)
class Part:
    """What one requester takes as one access.

    ``addresses`` (n,), ``size``, ``data`` and ``compares`` (n, size) as in a request; ``places``:
    where each lane's bytes stand among those of the request (None: part and request are the same).
    ``crosses``: a lane reaches into the next line. ``result``: what came back, (n, size).
    ``kind``: if it is another one than the request's.
    """

    flight: Flight
    port: int
    addresses: Addresses
    size: int
    data: Data | None
    compares: Data | None
    places: Index | None
    glc: bool
    slc: bool
    crosses: bool
    fetch: bool = False
    result: Data | None = None
    kind: RequestKind | None = None

    @property
    def asks(self) -> RequestKind:
        """What the requester is asked for: ``kind``, or what the request asks for."""
        return self.flight.request.kind if self.kind is None else self.kind

    def deliver(self) -> None:
        """Put ``result`` where it belongs in the request's data."""
        flight = self.flight
        if self.places is None:
            flight.data = self.result
            return
        if flight.data is None:
            request = flight.request
            flight.data = np.zeros((len(request.addresses), request.size), np.uint8)
        assert self.result is not None, "the engine has filled it in"
        flat = flight.data.reshape(-1)
        flat[self.places[:, None] + np.arange(self.size)] = self.result


class Cutter:
    """Makes parts of requests. ``line_size``: bytes."""

    def __init__(self, line_size: int) -> None:
        self.line_size = line_size

    def whole(self, flight: Flight, kind: PortKind, place: Allocation) -> list[Part]:
        """Parts of a request whose lanes are all in one allocation."""
        return self._cut(flight, kind, place.memory_type, None)

    def mixed(
        self, flight: Flight, kind: PortKind, places: list[Allocation]
    ) -> tuple[list[Part], list[int]]:
        """The same for any lanes; also the lanes that are stores to doorbells."""
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
            parts += self._cut(flight, kind, memory_type, chosen)
        return parts, doorbells

    def _cut(
        self, flight: Flight, kind: PortKind, memory_type: MemoryType, lanes: Index | None
    ) -> list[Part]:
        request = flight.request
        addresses: Addresses = request.addresses
        size = request.size
        glc = request.glc or kind is PortKind.CONTROL or memory_type is MemoryType.UC
        slc = request.slc or memory_type.bypasses
        sequenced = kind is PortKind.SCALAR or kind is PortKind.FETCH
        piece = self._piece(addresses, size, sequenced)
        if lanes is None and piece == size:
            crosses = not sequenced and self._crosses(addresses, size)
            data, compares = request.data, request.compares
            fetch = kind is PortKind.FETCH
            return [
                Part(
                    flight,
                    request.port,
                    addresses,
                    size,
                    data,
                    compares,
                    None,
                    glc,
                    slc,
                    crosses,
                    fetch,
                )
            ]
        if lanes is None:
            lanes = np.arange(len(addresses), dtype=np.int64)
        steps = np.arange(0, size, piece, dtype=np.int64)
        starts = (addresses[lanes][:, None] + steps.astype(np.uint64)).reshape(-1)
        places = (lanes[:, None] * size + steps).reshape(-1)
        columns = places[:, None] + np.arange(piece)
        parts = []
        for first in range(0, len(starts), LANES):
            some = slice(first, first + LANES)
            part = Part(
                flight,
                request.port,
                starts[some],
                piece,
                _bytes(request.data, columns[some]),
                _bytes(request.compares, columns[some]),
                places[some],
                glc,
                slc,
                not sequenced and self._crosses(starts[some], piece),
                kind is PortKind.FETCH,
            )
            parts.append(part)
        return parts

    def _piece(self, addresses: Addresses, size: int, sequenced: bool) -> int:
        """Bytes of the pieces that lanes are cut into."""
        if not sequenced:
            return next(piece for piece in _COALESCED if size % piece == 0)
        first = self.line_size - int(addresses[0]) % self.line_size
        return next(
            piece
            for piece in _SEQUENCED
            if size % piece == 0 and (first >= size or first % piece == 0)
        )

    def _crosses(self, addresses: Addresses, size: int) -> bool:
        last: Any = addresses & np.uint64(self.line_size - 1)
        return bool(np.maximum.reduce(last) > self.line_size - size)


def _bytes(data: Data | None, columns: Index) -> Data | None:
    return None if data is None else np.ascontiguousarray(data).reshape(-1)[columns]
