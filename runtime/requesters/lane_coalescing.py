"""Grouping the lanes of one instruction by line.

Invariant: requests stand in the order in which their lines are first mentioned, lanes in lane order
inside a request, and every lane is in one request for each line that it touches.
"""

from __future__ import annotations

from typing import Final

from runtime.requesters.base import BYTES_MASK, RequesterBase
from runtime.requesters.port import Access, AccessKind
from runtime.types.messages import RubyRequestType
from runtime.types.values import AtomicOp

LD: Final = RubyRequestType.LD
ST: Final = RubyRequestType.ST
ATOMIC_RETURN: Final = RubyRequestType.ATOMIC_RETURN
ATOMIC_NO_RETURN: Final = RubyRequestType.ATOMIC_NO_RETURN
FLUSH: Final = RubyRequestType.FLUSH


class LineRequest:
    """The lanes of one instruction that touch one line: what becomes one RubyRequest.

    ``sequence`` is the ``instSeqNum`` sent along; ``mask`` is byte-expanded.
    """

    __slots__ = (
        "accepted",
        "access",
        "completed",
        "data",
        "lanes",
        "line",
        "mask",
        "operations",
        "sequence",
        "type",
    )

    def __init__(self, access: Access, line: int, type: int, lanes: list[int], mask: int) -> None:
        self.access = access
        self.line = line
        self.type = type
        self.lanes = lanes
        self.mask = mask
        self.data = 0
        self.operations: list[tuple[int, AtomicOp]] | None = None
        self.sequence = -1
        self.accepted = False
        self.completed = False


def coalesce(requester: RequesterBase, access: Access, alone: bool) -> list[LineRequest]:
    """The requests of a load, store or atomic; with ``alone`` every lane has a request of its own.

    Raises ValueError, with the address, for a lane that reaches into the next line where that
    is not allowed.
    """
    kind = access.kind
    size = access.size
    type = LD
    if kind == AccessKind.STORE:
        type = ST
    elif kind == AccessKind.ATOMIC:
        type = ATOMIC_RETURN if access.returns else ATOMIC_NO_RETURN
    offset_bits = requester.line_size - 1
    last = requester.line_size - size
    ones = BYTES_MASK[size]
    values = access.values
    found: dict[int, LineRequest] = {}
    requests: list[LineRequest] = []
    for lane, address in enumerate(access.addresses):
        offset = address & offset_bits
        line = address - offset
        if offset > last or address < 0:
            if address < 0 or alone or not access.crosses or kind == AccessKind.ATOMIC:
                raise requester.crossing(access, address)
            _across(access, lane, type, requester.line_size, found, requests)
            continue
        bits = ones << (offset << 3)
        request = None if alone else found.get(line)
        if request is None:
            found[line] = request = LineRequest(access, line, type, [], 0)
            requests.append(request)
        request.lanes.append(lane)
        request.mask |= bits
        if type == LD:
            continue
        if type == ST:
            request.data = request.data & ~bits | (values[lane] & ones) << (offset << 3)
        else:
            operation = (offset, requester.operation(access, lane))
            if request.operations is None:
                request.operations = [operation]
            else:
                request.operations.append(operation)
    return requests


def _across(
    access: Access,
    lane: int,
    type: int,
    line_size: int,
    found: dict[int, LineRequest],
    requests: list[LineRequest],
) -> None:
    """Enter a lane of a load or store in the requests of both of its lines."""
    offset = access.addresses[lane] & line_size - 1
    first = access.addresses[lane] - offset
    ones = BYTES_MASK[access.size] << (offset << 3)
    value = access.values[lane] << (offset << 3) & ones if type == ST else 0
    whole = (1 << 8 * line_size) - 1
    for line, bits, data in (
        (first, ones & whole, value & whole),
        (first + line_size, ones >> 8 * line_size, value >> 8 * line_size),
    ):
        request = found.get(line)
        if request is None:
            found[line] = request = LineRequest(access, line, type, [], 0)
            requests.append(request)
        request.lanes.append(lane)
        request.mask |= bits
        request.data = request.data & ~bits | data
