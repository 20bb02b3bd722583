"""Prefetchers as a controller sees them.

Invariant: a prefetcher never touches the protocol's data; it is notified of hits and misses and
requests lines, and whether they are fetched is the protocol's affair.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol, cast

from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.enumerations import PrefetchBit, RubyRequestType
from runtime.types.messages import RubyRequest
from runtime.types.values import DataBlock

STREAMS = 4
FILTERS = 8
TRAINING = 4
"""Hits of a filter that begin a stream."""
PAGE_BITS = 12
_MASK64 = (1 << 64) - 1


class PrefetchingController(Protocol):
    """As much of a controller as its prefetcher needs."""

    def curCycle(self) -> int: ...
    def enqueuePrefetch(self, address: int, kind: int, /) -> None: ...


class _Stream:
    """Lines that are fetched ahead: ``address`` is the last one that was asked for."""

    __slots__ = ("address", "kind", "stride", "used", "valid")

    def __init__(self) -> None:
        self.valid = False
        self.address = self.stride = self.used = self.kind = 0


class _Filter:
    """A line that is expected next, or the last one seen of a page, and how often that held."""

    __slots__ = ("address", "hits", "stride")

    def __init__(self, address: int) -> None:
        self.address = address
        self.stride = self.hits = 0


class RubyPrefetcher:
    """Finds streams of misses that are a constant number of lines apart.

    A miss that no stream is waiting for is looked up in three lists of the last misses: of lines
    that would be next, that would be the one before, and, page by page, of distances. Enough hits
    begin a stream, in the place of the one used longest ago: it asks for the next line with
    ``enqueuePrefetch`` of the controller, and for one more with every demand for what it asked
    for, until the page ends. Strides count lines; ties go to the first.
    """

    __slots__ = ("_ahead", "_back", "_controller", "_line_size", "_pages", "_streams")

    def __init__(self, line_size: int) -> None:
        self._line_size = line_size
        self._controller: PrefetchingController | None = None
        self._streams = [_Stream() for _ in range(STREAMS)]
        self._ahead: deque[_Filter] = deque(maxlen=FILTERS)
        self._back: deque[_Filter] = deque(maxlen=FILTERS)
        self._pages: deque[_Filter] = deque(maxlen=FILTERS)

    def attach(self, controller: PrefetchingController) -> None:
        """Whom it asks for lines, and whose clock it looks at."""
        self._controller = controller

    # ------------------------------------------------------------ notifications of the controller

    def observeMiss(self, address: int, kind: int) -> None:
        """A demand missed."""
        line = address & -self._line_size
        if self._stream_of(line) is not None:
            return
        if self._unit(self._ahead, line, 1, kind) or self._unit(self._back, line, -1, kind):
            return
        self._distance(line, kind)

    def observePfHit(self, address: int) -> None:
        """A demand found a line that was fetched for it."""
        self._extend(address)

    def observePfMiss(self, address: int) -> None:
        """A demand came while its line was being fetched."""
        self._extend(address)

    # ------------------------------------------------------------ filters

    def _unit(self, filters: deque[_Filter], line: int, stride: int, kind: int) -> bool:
        for each in filters:
            if each.address == line:
                each.address = self._next(line, stride)
                each.hits += 1
                if each.hits >= TRAINING:
                    self._begin(line, stride, kind)
                return True
        filters.append(_Filter(self._next(line, stride)))
        return False

    def _distance(self, line: int, kind: int) -> None:
        for each in self._pages:
            if each.address >> PAGE_BITS != line >> PAGE_BITS:
                continue
            distance = line - each.address
            if not distance:
                return
            begins = False
            if distance == each.stride:
                each.hits += 1
                begins = each.hits > TRAINING
            else:
                each.hits = 0
            if begins:
                each.hits = 0
            each.address, each.stride = line, distance
            if begins:
                self._begin(line, distance // self._line_size, kind)
            return
        self._pages.append(_Filter(line))

    # ------------------------------------------------------------ streams

    def _next(self, line: int, stride: int) -> int:
        return (line + stride * self._line_size) & _MASK64

    def _stream_of(self, line: int) -> _Stream | None:
        for stream in self._streams:
            if stream.valid and stream.address == line:
                return stream
        return None

    def _begin(self, line: int, stride: int, kind: int) -> None:
        stream = min(self._streams, key=lambda each: (each.valid, each.used if each.valid else 0))
        stream.address, stream.stride, stream.kind = line, stride, kind
        stream.valid = True
        self._ask(stream)

    def _extend(self, address: int) -> None:
        stream = self._stream_of(address)
        if stream is not None:
            self._ask(stream)

    def _ask(self, stream: _Stream) -> None:
        controller = self._controller
        assert controller is not None, "a prefetcher belongs to a controller"
        line = self._next(stream.address, stream.stride)
        stream.used = controller.curCycle()
        if line >> PAGE_BITS != stream.address >> PAGE_BITS:
            stream.valid = False
            return
        stream.address = line
        controller.enqueuePrefetch(line, stream.kind)


class _Owner(Protocol):
    """The controller, as far as its proxy needs it."""

    line_size: int


class RubyPrefetcherProxy:
    """A prefetcher that asks for lines through a queue of the machine: here, one that fetches back
    what was evicted.

    With the next demand that misses after an eviction it asks for the line that went last, as a
    load; one line at a time, until the machine says `completePrefetch`. Such lines are under test
    as well, so that prefetches meet demands, snoops and evictions.
    """

    __slots__ = ("_asked", "_evicted", "queue")

    def __init__(self, prefetcher: object, queue: MessageBuffer) -> None:
        """``prefetcher``: a full simulator's, which no system here has."""
        self.queue = queue
        self._evicted: int | None = None
        self._asked: int | None = None

    def regProbePoints(self) -> None:
        """There are no probes."""

    def notifyPfHit(self, request: Any, reads: bool, data: DataBlock) -> None:
        """A demand found its line here."""

    def notifyPfMiss(self, request: Any, reads: bool, data: DataBlock) -> None:
        """A demand did not find its line here."""
        line = self._evicted
        if line is None or self._asked is not None:
            return
        self._asked, self._evicted = line, None
        message = RubyRequest()
        message.LineAddress = message.PhysicalAddress = line
        message.Type = RubyRequestType.LD
        message.Size = cast(_Owner, self.queue.consumer).line_size
        message.Prefetch = PrefetchBit.Yes
        self.queue.enqueue(message, 1)

    def notifyPfFill(self, request: Any, data: DataBlock, prefetched: bool) -> None:
        """A line came."""

    def notifyPfEvict(self, address: int, prefetched: bool, requestor: int) -> None:
        """A line went."""
        self._evicted = address

    def completePrefetch(self, address: int) -> None:
        """A prefetch is over. Raises ProtocolError if it was not asked for."""
        if address != self._asked:
            raise ProtocolError(ErrorKind.BAD_CALLBACK, f"{address:#x} was not to be prefetched")
        self._asked = None
