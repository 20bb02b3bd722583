"""The runtime's classes and functions over abstract values.

Invariant: a function here gets evaluated arguments and returns a value; what it changes is in the
step or is returned as the receiver's new value. What is not here does nothing and is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from slicc.analysis.product.step import Step
from slicc.analysis.product.values import LINE, NO_MACHINE, OTHER_LINE, UNKNOWN, Unmodelled, Value

STORES: Final = frozenset(
    {"CacheMemory", "DirectoryMemory", "PerfectCacheMemory", "TBETable", "TimerTable"}
)
"""Classes that keep at most one record per line."""
_LINES: Final = (LINE, OTHER_LINE)
_ABOUT_A_LINE: Final = frozenset(
    {"lookup", "isTagPresent", "isPresent", "isSet", "cacheAvail", "cacheProbe"}
)
"""What they answer about one of the two lines that are modelled."""


def store_call(step: Step, name: str, method: str, arguments: list[Value], new: Value) -> Value:
    """A method of a table or cache. ``new``: the record that an ``allocate`` without one stores."""
    tables = step.tables
    here = not arguments or arguments[0] == LINE
    if method == "isPresent" and name in step.homes:
        return True
    if arguments and arguments[0] not in _LINES and method in _ABOUT_A_LINE:
        return UNKNOWN
    match method:
        case "lookup":
            return tables[name] if here else None
        case "isTagPresent" | "isPresent" | "isSet":
            return here and tables[name] is not None
        case "allocate" | "allocateVoid":
            _only_line(here)
            record = arguments[1] if len(arguments) > 1 else new
            tables[name] = record
            return record
        case "deallocate" | "unset":
            _only_line(here)
            tables[name] = None
            return None
        case "set":
            _only_line(here)
            tables[name] = True
            return None
        case "isReady":
            return tables[name] is not None
        case "nextAddress":
            return LINE
        case "cacheAvail":
            return here or tables[name] is None
        case "cacheProbe":
            return OTHER_LINE if tables[name] is None else LINE
        case "getNullEntry":
            return None
        case "areNSlotsAvailable" | "checkResourceAvailable":
            return True
        case "getTagLatency" | "getDataLatency":
            return 1
        case _:
            return UNKNOWN


def _only_line(here: bool) -> None:
    if not here:
        raise Unmodelled("another line")


def requester_call(step: Step, method: str, arguments: list[Value]) -> Value:
    """A method of a sequencer, coalescer or DMA engine: an answer ends the request. That an older
    store is complete is none."""
    if method.endswith("Callback") or "Callback_" in method:
        ends = method.startswith(("read", "write", "atomic", "ack", "data"))
        if ends and method != "writeCompleteCallback" and LINE in arguments:
            step.answered = True
        return None
    return UNKNOWN


def value_call(step: Step, method: str, receiver: Value, arguments: list[Value]) -> Value:
    """A method of a value class that changes nothing."""
    if not isinstance(receiver, frozenset) or UNKNOWN in arguments:
        return UNKNOWN
    match method:
        case "count":
            return len(receiver)
        case "isElement":
            return arguments[0] in receiver
        case "isEmpty":
            return not receiver
        case "isSuperset":
            return receiver >= arguments[0]
        case "isEqual":
            return receiver == arguments[0]
        case "intersectionIsEmpty":
            return not (receiver & arguments[0])
        case "OR":
            return receiver | arguments[0]
        case "AND":
            return receiver & arguments[0]
        case "smallestElement":
            return min(receiver, default=UNKNOWN)
        case "smallestElement_of":
            return min((one for one in receiver if one[0] == arguments[0]), default=UNKNOWN)
        case _:
            return UNKNOWN


def changed(step: Step, method: str, receiver: Value, arguments: list[Value]) -> Value:
    """The receiver's new value after a method that changes it."""
    if not isinstance(receiver, frozenset):
        return receiver
    if method == "clear":
        return frozenset()
    if UNKNOWN in arguments:
        return UNKNOWN
    match method:
        case "add":
            return receiver | {arguments[0]}
        case "addNetDest" | "addSet":
            return receiver | arguments[0]
        case "remove":
            return receiver - {arguments[0]}
        case "removeNetDest" | "removeSet":
            return receiver - arguments[0]
        case "broadcast":
            return receiver | _all(step, arguments[0]) if arguments else UNKNOWN
        case "setNetDest":
            others = frozenset(one for one in receiver if one[0] != arguments[0])
            return others | {(arguments[0], number) for number in arguments[1]}
        case "setSize":
            return receiver
        case _:
            return UNKNOWN


def _all(step: Step, type: str) -> frozenset[tuple[str, int]]:
    return frozenset((type, number) for number in range(step.counts.get(type, 0)))


def _home(step: Step, address: Value, type: Value = UNKNOWN, *rest: Value) -> Value:
    """The first machine of a type, as if there were one: how it is chosen is not modelled."""
    return UNKNOWN if type is UNKNOWN else (type, 0)


def _take_memory(step: Step) -> None:
    if step.source[0] != "memory":
        raise Unmodelled("no answer of memory")
    step.take()


def _wake_up(step: Step, *address: Value) -> None:
    if address and address[0] not in _LINES:
        raise Unmodelled("wakes another line")
    if LINE in address or not address:
        step.wake()


FUNCTIONS: Final[dict[str, Callable[..., Value]]] = {
    "zero_time": lambda step: 0,
    "mapAddressToMachine": _home,
    "mapAddressToRange": _home,
    "machineCount": lambda step, type: step.counts.get(type, 0),
    "createMachineID": lambda step, type, number: (type, number),
    "machineIDToMachineType": lambda step, machine: machine[0],
    "machineIDToNodeID": lambda step, machine: machine[1],
    "broadcast": lambda step, type: _all(step, type),
    "makeLineAddress": lambda step, address: address if address in _LINES else UNKNOWN,
    "getOffset": lambda step, address: 0 if address in _LINES else UNKNOWN,
    "bitSelect": lambda step, address, *rest: 0 if address == LINE else UNKNOWN,
    "addressToInt": lambda step, address: address if address in _LINES else UNKNOWN,
    "mod": lambda step, a, b: a % b if a >= 0 < b else UNKNOWN,
    "max_tokens": lambda step: 1024,
    "wakeUpBuffers": _wake_up,
    "wakeUpAllBuffers": _wake_up,
    "dequeueMemRespQueue": _take_memory,
    "isWriteRequest": lambda step, type: type in ("ST", "ATOMIC", "RMW_Write"),
    "isDataReadRequest": lambda step, type: type == "LD",
    "isReadRequest": lambda step, type: type in ("LD", "IFETCH"),
    "isHtmCmdRequest": lambda step, type: False,
}


_OF_UNKNOWN: Final = (_home, _wake_up)
"""What has a meaning where an argument is unknown."""


def function_call(step: Step, name: str, arguments: list[Value]) -> Value:
    """A function of the runtime."""
    known = FUNCTIONS.get(name)
    if known is None:
        return UNKNOWN
    if known not in _OF_UNKNOWN and any(
        each is UNKNOWN or each == NO_MACHINE for each in arguments
    ):
        return UNKNOWN
    result: Any = known(step, *arguments)
    return result
