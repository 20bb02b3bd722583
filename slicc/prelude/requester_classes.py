"""Requesters as a controller sees them, and prefetchers.

Invariant: a ``DataBlock!`` argument is the cache line itself; the requester may write into it.
"""

from __future__ import annotations

from slicc.prelude.rows import ClassRow


def _hits(name: str, block: str) -> tuple[str, ...]:
    """The four overloads of a completion callback, by how much they report for statistics."""
    extra = ("", ", bool", ", bool, MachineType", ", bool, MachineType, Cycles, Cycles, Cycles")
    return tuple(f"{name}(Addr, {block}{more})" for more in extra)


REQUESTER_CLASSES: dict[str, ClassRow] = {
    "Sequencer": ClassRow(
        parameter=True,
        constructor=None,
        methods=(
            *_hits("readCallback", "DataBlock"),
            *_hits("writeCallback", "DataBlock!"),
            "writeUniqueCallback(Addr, DataBlock!)",
            *_hits("atomicCallback", "DataBlock!"),
            "unaddressedCallback(Addr, RubyRequestType)",
            "unaddressedCallback(Addr, RubyRequestType, MachineType)",
            "unaddressedCallback(Addr, RubyRequestType, MachineType, Cycles, Cycles, Cycles)",
            "writeCallbackScFail(Addr, DataBlock!)",
            "llscCheckMonitor(Addr) -> bool",
            "llscClearLocalMonitor()",
            "evictionCallback(Addr)",
            "invL1Callback()",
            "recordRequestType(SequencerRequestType)",
        ),
    ),
    "HTMSequencer": ClassRow(
        parameter=True,
        constructor=None,
        interface="Sequencer",
        methods=("htmCallback(Addr, HtmCallbackMode, HtmFailedInCacheReason)",),
    ),
    "GPUCoalescer": ClassRow(
        parameter=True,
        constructor=None,
        methods=(
            "readCallback(Addr, MachineType, DataBlock)",
            "readCallback(Addr, MachineType, DataBlock, Cycles, Cycles, Cycles)",
            "readCallback(Addr, MachineType, DataBlock, Cycles, Cycles, Cycles, bool)",
            "readCallback(Addr, DataBlock) = readCallback_plain",
            "writeCallback(Addr, MachineType, DataBlock!)",
            "writeCallback(Addr, MachineType, DataBlock!, Cycles, Cycles, Cycles)",
            "writeCallback(Addr, MachineType, DataBlock!, Cycles, Cycles, Cycles, bool)",
            "writeCallback(Addr, DataBlock!) = writeCallback_plain",
            "evictionCallback(Addr)",
        ),
    ),
    "VIPERCoalescer": ClassRow(
        parameter=True,
        constructor=None,
        interface="GPUCoalescer",
        methods=(
            "atomicCallback(Addr, MachineType, DataBlock!)",
            "invTCPCallback(Addr)",
            "invTCCCallback(Addr)",
            "writeCompleteCallback(Addr, uint64_t)",
        ),
    ),
    "DMASequencer": ClassRow(
        parameter=True,
        constructor=None,
        methods=(
            "ackCallback(Addr)",
            "dataCallback(DataBlock, Addr)",
            "atomicCallback(DataBlock, Addr)",
        ),
    ),
    "RubyPrefetcher": ClassRow(
        parameter=True,
        constructor=None,
        methods=(
            "observeMiss(Addr, RubyRequestType)",
            "observePfHit(Addr)",
            "observePfMiss(Addr)",
        ),
    ),
    "RubyPrefetcherProxy": ClassRow(
        constructor=("any", "any"),
        methods=(
            "notifyPfHit(RequestPtr, bool, DataBlock)",
            "notifyPfMiss(RequestPtr, bool, DataBlock)",
            "notifyPfFill(RequestPtr, DataBlock, bool)",
            "notifyPfEvict(Addr, bool, RequestorID)",
            "completePrefetch(Addr)",
            "regProbePoints()",
        ),
    ),
}
