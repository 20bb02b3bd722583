"""Requests that every memory refuses, whatever its state.

Invariant: a request that passes has a known port and arrays of the shapes that its kind needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gpu.memory.interface import Memory, MemoryRequest, PortKind, Translator
from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind

_ADDRESS: Final = np.dtype(np.uint64)
MAX_LANES: Final = 64
MAX_VECTOR: Final = 16
"""Bytes of a lane of a vector access, or of a core's access."""
MAX_SCALAR: Final = 64
"""Bytes of a scalar load or a fetch; also of an access of the front end or of a DMA engine."""

_NARROW: Final = (PortKind.VECTOR, PortKind.CPU)
_ONE_LANE: Final = (PortKind.CPU, PortKind.DMA)


def check_shape(request: MemoryRequest, ports: Sequence[PortKind]) -> None:
    """``ports``: their kinds. Raises ValueError, whose message gives the reason."""
    why = _objection(request, ports)
    if why is not None:
        raise ValueError(f"{AccessKind.name_of(request.kind)} request, tag {request.tag}: {why}")


def translator_of(memory: Memory, request: MemoryRequest) -> Translator:
    """What takes a request of a process. Raises ValueError on a device without processes."""
    if memory.translator is None:
        raise ValueError(f"there is no process of VMID {request.vmid}")
    return memory.translator


def _objection(request: MemoryRequest, ports: Sequence[PortKind]) -> str | None:
    if not 0 <= request.port < len(ports):
        return f"there is no port {request.port}"
    kind, port = request.kind, ports[request.port]
    if kind > AccessKind.RELEASE and port is not PortKind.CONTROL:
        return "only the front end writes back and drops what the shared cache holds"
    if kind == AccessKind.ATOMIC and port is PortKind.DMA:
        return "a DMA engine only loads and stores"
    if kind > AccessKind.ATOMIC:
        return None
    addresses = request.addresses
    lanes = len(addresses)
    if addresses.dtype != _ADDRESS or addresses.ndim != 1:
        return "addresses are an array of uint64 in one dimension"
    if not 0 < lanes <= MAX_LANES:
        return f"{lanes} lanes, not 1 to {MAX_LANES}"
    if lanes > 1 and port in _ONE_LANE:
        return f"{lanes} lanes at a {port.value} port, which takes one"
    limit = MAX_VECTOR if port in _NARROW else MAX_SCALAR
    if not 0 < request.size <= limit:
        return f"{request.size} bytes a lane, not 1 to {limit}"
    if kind == AccessKind.LOAD:
        return None
    if request.data is None or request.data.shape != (lanes, request.size):
        return f"data of another shape than ({lanes}, {request.size})"
    if kind == AccessKind.STORE:
        return None
    if request.size not in (4, 8):
        return f"an atomic of {request.size} bytes; only 4 or 8 work"
    if not 0 <= request.op < AtomicKind.NUM:
        return f"no atomic operation has number {request.op}"
    if request.op == AtomicKind.CAS and (
        request.compares is None or request.compares.shape != request.data.shape
    ):
        return "compare-and-swap without one comparand per lane"
    return None
