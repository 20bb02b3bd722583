"""What the fences of a packet ask of the caches.

An acquire drops what the caches of the packet's compute units hold; a release waits until all
their stores are performed. Both scopes are the same here as long as no cache above the directory
keeps stores. Invariant: a fence names only ports that the packet's waves can have used.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from gpu.hsa.aql import FenceScope
from gpu.memory.interface import Memory, Request, RequestKind


class Obey(Enum):
    """Whether the header decides."""

    HEADER = "header"
    ALWAYS = "always"
    """System scope on both sides, whatever the packet says."""


class Fences:
    """Requests for the fences of packets that run on some compute units."""

    def __init__(self, memory: Memory, obey: Obey = Obey.HEADER) -> None:
        self._ports = memory.ports
        self._obey = obey

    def acquire(self, scope: int, cus: Sequence[int]) -> list[Request]:
        """At the start of a packet; empty if its header asks for none."""
        return self._requests(RequestKind.ACQUIRE, scope, cus)

    def code(self, cus: Sequence[int]) -> list[Request]:
        """Invalidate instruction caches."""
        ports = dict.fromkeys(self._ports.fetch(cu) for cu in cus)
        return [Request(port, RequestKind.ACQUIRE, 0) for port in ports]

    def release(self, scope: int, cus: Sequence[int]) -> list[Request]:
        """At the end of a packet, before it completes."""
        return self._requests(RequestKind.RELEASE, scope, cus)

    def _requests(self, kind: RequestKind, scope: int, cus: Sequence[int]) -> list[Request]:
        if self._obey is Obey.HEADER and scope == FenceScope.NONE:
            return []
        ports = dict.fromkeys(self._ports.vector(cu) for cu in cus)
        ports |= dict.fromkeys(self._ports.scalar(cu) for cu in cus)
        return [Request(port, kind, 0) for port in ports]
