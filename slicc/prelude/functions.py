"""Functions of the runtime: of the controller base class, and free ones of the library.

Invariant: a row names every overload; the Python name is the SLICC name unless the line says
otherwise. ``Event``, ``State``, ``TBE`` and ``RequestType`` mean those of the calling machine.
"""

from __future__ import annotations

from slicc.prelude.signature import Home
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FunctionRow:
    home: Home
    lines: tuple[str, ...]


def _controller(*lines: str) -> FunctionRow:
    return FunctionRow(Home.CONTROLLER, lines)


def _library(*lines: str) -> FunctionRow:
    return FunctionRow(Home.LIBRARY, lines)


STATEMENT_FUNCTIONS: frozenset[str] = frozenset(
    {
        "trigger",
        "stallPort",
        "error",
        "assert",
        "DPRINTF",
        "DPRINTFN",
        "APPEND_TRANSITION_COMMENT",
        "set_tbe",
        "unset_tbe",
        "set_cache_entry",
        "unset_cache_entry",
    }
)
"""Called like functions, but statements: resolve gives each a node of its own."""

FUNCTIONS: dict[str, FunctionRow] = {
    # time
    "clockEdge": _controller("clockEdge() -> Tick", "clockEdge(Cycles) -> Tick"),
    "curCycle": _controller("curCycle() -> Cycles"),
    "curTick": _controller("curTick() -> Tick"),
    "cyclesToTicks": _controller("cyclesToTicks(Cycles) -> Tick ; cast"),
    "ticksToCycles": _controller("ticksToCycles(Tick) -> Cycles ; cast"),
    "intToCycles": _library("intToCycles(int) -> Cycles ; cast"),
    "intToTick": _library("intToTick(int) -> Tick ; cast"),
    "zero_time": _library("zero_time() -> Cycles"),
    # where an address lives
    "mapAddressToMachine": _controller("mapAddressToMachine(Addr, MachineType) -> MachineID"),
    "mapAddressToDownstreamMachine": _controller(
        "mapAddressToDownstreamMachine(Addr) -> MachineID",
        "mapAddressToDownstreamMachine(Addr, MachineType) -> MachineID",
    ),
    "mapAddressToRange": _controller(
        "mapAddressToRange(Addr, MachineType, int, int) -> MachineID",
        "mapAddressToRange(Addr, MachineType, int, int, NodeID) -> MachineID",
    ),
    "machineCount": _controller("machineCount(MachineType) -> int"),
    "createMachineID": _controller("createMachineID(MachineType, NodeID) -> MachineID"),
    "machineIDToMachineType": _library("machineIDToMachineType(MachineID) -> MachineType"),
    "machineIDToNodeID": _library("machineIDToNodeID(MachineID) -> NodeID"),
    "respondsTo": _controller("respondsTo(Addr) -> bool"),
    "allUpstreamDest": _controller("allUpstreamDest() -> NetDest"),
    "broadcast": _controller("broadcast(MachineType) -> NetDest"),
    # addresses and integers
    "makeLineAddress": _controller("makeLineAddress(Addr) -> Addr"),
    "getOffset": _controller("getOffset(Addr) -> int"),
    "addressOffset": _library("addressOffset(Addr, Addr) -> int"),
    "makeNextStrideAddress": _controller("makeNextStrideAddress(Addr, int) -> Addr"),
    "bitSelect": _library("bitSelect(Addr, int, int) -> Addr"),
    "maskLowOrderBits": _library("maskLowOrderBits(Addr, int) -> Addr"),
    "addressToInt": _library("addressToInt(Addr) -> int"),
    "intToAddress": _library("intToAddress(int) -> Addr ; cast"),
    "intToID": _library("intToID(int) -> NodeID ; cast"),
    "IDToInt": _library("IDToInt(NodeID) -> int ; cast"),
    "mod": _library("mod(int, int) -> int"),
    "max_tokens": _library("max_tokens() -> int"),
    "countBoolVec": _library("countBoolVec(BoolVec) -> int"),
    # stalling
    "wakeUpBuffers": _controller("wakeUpBuffers(Addr)"),
    "wakeUpAllBuffers": _controller("wakeUpAllBuffers()", "wakeUpAllBuffers(Addr)"),
    "scheduleEvent": _controller("scheduleEvent(Cycles)"),
    "curTransitionEvent": _controller("curTransitionEvent() -> Event"),
    "curTransitionNextState": _controller("curTransitionNextState() -> State"),
    # memory and functional accesses
    "functionalMemoryRead": _controller("functionalMemoryRead(Packet)"),
    "functionalMemoryWrite": _controller("functionalMemoryWrite(Packet) -> bool"),
    "dequeueMemRespQueue": _controller("dequeueMemRespQueue()"),
    "testAndRead": _library("testAndRead(Addr, DataBlock, Packet) -> bool"),
    "testAndReadMask": _library("testAndReadMask(Addr, DataBlock, WriteMask, Packet) -> bool"),
    "testAndWrite": _library("testAndWrite(Addr, DataBlock!, Packet) -> bool"),
    # requests
    "isWriteRequest": _library("isWriteRequest(RubyRequestType) -> bool"),
    "isDataReadRequest": _library("isDataReadRequest(RubyRequestType) -> bool"),
    "isReadRequest": _library("isReadRequest(RubyRequestType) -> bool"),
    "isHtmCmdRequest": _library("isHtmCmdRequest(RubyRequestType) -> bool"),
    "htmCmdToRubyRequestType": _library("htmCmdToRubyRequestType(Packet) -> RubyRequestType"),
    "tlbiCmdToRubyRequestType": _library("tlbiCmdToRubyRequestType(Packet) -> RubyRequestType"),
    "getRequestorID": _library("getRequestorID(RequestPtr) -> RequestorID"),
    # statistics
    "profileMsgDelay": _controller("profileMsgDelay(int, Cycles)"),
    "incomingTransactionStart": _controller(
        "incomingTransactionStart(Addr, Event, State, bool)",
        "incomingTransactionStart(Addr, Event, State, bool, bool)",
    ),
    "incomingTransactionEnd": _controller(
        "incomingTransactionEnd(Addr, State)", "incomingTransactionEnd(Addr, State, bool)"
    ),
    "outgoingTransactionStart": _controller(
        "outgoingTransactionStart(Addr, Event)", "outgoingTransactionStart(Addr, Event, bool)"
    ),
    "outgoingTransactionEnd": _controller(
        "outgoingTransactionEnd(Addr, bool)", "outgoingTransactionEnd(Addr, bool, bool)"
    ),
}

PAIR_TEXT_FUNCTIONS: dict[str, FunctionRow] = {
    "RubySystem::getBlockSizeBits": _controller("getBlockSizeBits() -> int"),
    "RubySystem::getBlockSizeBytes": _controller("getBlockSizeBytes() -> int"),
    "max_tokens": _library("max_tokens() -> int"),
    "log2": _library("log2(int) -> int"),
}
"""The calls that occur in ``default=`` and ``constructor=`` text."""
