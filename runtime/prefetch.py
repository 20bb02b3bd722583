"""Prefetchers as a controller sees them.

Invariant: a prefetcher never touches the protocol's data; it hears of hits and misses and asks
for lines, and whether anybody fetches them is the protocol's affair.
"""

from __future__ import annotations

from typing import Any

from runtime.errors import ErrorKind, ProtocolError
from runtime.message_buffer import MessageBuffer
from runtime.values import DataBlock


class RubyPrefetcherProxy:
    """Tells a prefetcher that stands outside of the protocol what the cache does.

    Such prefetchers belong to a full simulator. Without one (``prefetcher`` None, as in every
    system here) there is nobody to tell, and a line that was prefetched cannot exist.
    """

    __slots__ = ("prefetcher", "queue")

    def __init__(self, prefetcher: object, queue: MessageBuffer) -> None:
        self.prefetcher = prefetcher
        self.queue = queue

    def regProbePoints(self) -> None:
        """There are no probes."""

    def notifyPfHit(self, request: Any, reads: bool, data: DataBlock) -> None:
        """A demand found its line here."""

    def notifyPfMiss(self, request: Any, reads: bool, data: DataBlock) -> None:
        """A demand did not find its line here."""

    def notifyPfFill(self, request: Any, data: DataBlock, prefetched: bool) -> None:
        """A line came."""

    def notifyPfEvict(self, address: int, prefetched: bool, requestor: int) -> None:
        """A line went."""

    def completePrefetch(self, address: int) -> None:
        """A prefetch is over; nobody has asked for one."""
        raise ProtocolError(
            ErrorKind.BAD_CALLBACK, f"nobody asked to prefetch {address:#x}: there is no prefetcher"
        )
