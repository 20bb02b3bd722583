"""The cache operations that a packet's fences need.

An acquire invalidates the caches of the packet's compute units; a release waits until all
their stores are performed. System scope reaches further than agent scope where the shared cache
keeps stores: they are written back. Invariant: a fence names only ports that the packet's waves can
have used.

Source: HSA Platform System Architecture 1.0, 2.9.1; the AMDGPU usage guide, "Memory model
GFX6-GFX9": caches of scalar data are invalidated between dispatches.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from gpu.hsa.activities import Accesses, Steps
from gpu.hsa.aql import FenceScope
from gpu.memory.interface import (
    Memory,
    MemoryRequest,
)
from runtime.requesters.port import AccessKind


class Obey(Enum):
    """Whether the header decides."""

    HEADER = "header"
    ALWAYS = "always"
    """System scope on both sides, whatever the packet says."""


class Fences:
    """Fences of packets that run on some compute units."""

    def __init__(self, memory: Memory, obey: Obey = Obey.HEADER) -> None:
        self._memory = memory
        self._ports = memory.ports
        self._obey = obey

    def acquire(self, scope: int, cus: Sequence[int], code: bool = False) -> Steps[None]:
        """At the start of a packet. ``code``: a kernel runs, whose instructions may be new."""
        scope = self._obeyed(scope)
        if scope == FenceScope.NONE:
            return
        if scope == FenceScope.SYSTEM:
            yield from self._beyond(AccessKind.ACQUIRE)
        requests = self._requests(AccessKind.ACQUIRE, cus)
        yield Accesses(requests + self._of_code(cus) if code else requests)

    def code(self, cus: Sequence[int]) -> Steps[None]:
        """Invalidate instruction caches."""
        yield Accesses(self._of_code(cus))

    def release(self, scope: int, cus: Sequence[int]) -> Steps[None]:
        """At the end of a packet, before it completes."""
        scope = self._obeyed(scope)
        if scope == FenceScope.NONE:
            return
        yield Accesses(self._requests(AccessKind.RELEASE, cus))
        if scope == FenceScope.SYSTEM:
            yield from self._beyond(AccessKind.RELEASE)

    def _obeyed(self, scope: int) -> int:
        return scope if self._obey is Obey.HEADER else FenceScope.SYSTEM

    def _beyond(self, kind: int) -> Steps[None]:
        for requests in self._memory.system_fence(kind):
            yield Accesses(requests)

    def _of_code(self, cus: Sequence[int]) -> list[MemoryRequest]:
        ports = dict.fromkeys(self._ports.fetch(cu) for cu in cus)
        return [MemoryRequest(port, AccessKind.ACQUIRE, 0) for port in ports]

    def _requests(self, kind: int, cus: Sequence[int]) -> list[MemoryRequest]:
        ports = dict.fromkeys(self._ports.vector(cu) for cu in cus)
        ports |= dict.fromkeys(self._ports.scalar(cu) for cu in cus)
        return [MemoryRequest(port, kind, 0) for port in ports]
