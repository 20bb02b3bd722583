"""What there is to count in a system: machines, ports, buffers and caches, by number.

Numbers are those of the system's own lists, which a native plan keeps. Invariant: a census depends
on the structure of a system, not on its sizes, keys or latencies.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from runtime.sim.message_buffer import MessageBuffer
from runtime.system.system import System
from runtime.types.enumerations import RubyRequestType

ACCESSES: Final = frozenset(
    {
        RubyRequestType.LD,
        RubyRequestType.ST,
        RubyRequestType.ATOMIC,
        RubyRequestType.ATOMIC_RETURN,
        RubyRequestType.ATOMIC_NO_RETURN,
        RubyRequestType.IFETCH,
        RubyRequestType.Load_Linked,
        RubyRequestType.Store_Conditional,
        RubyRequestType.RMW_Read,
        RubyRequestType.RMW_Write,
        RubyRequestType.Locked_RMW_Read,
        RubyRequestType.Locked_RMW_Write,
    }
)
"""Requests that hit or miss; others (a replacement, a flush) do neither."""
TABLES: Final = "TBEs"


class Census(Struct, frozen=True):
    """Lists hold the number of a machine (``nodes``, ``controllers``, ``caches``) or of a series
    (``buffers``) for each thing. ``ports``: virtual network and machine of each. ``series``:
    machine, and parameter or `TABLES`. ``mandatory``: the buffers that requesters fill."""

    machines: tuple[str, ...]
    nodes: tuple[int, ...]
    controllers: tuple[int, ...]
    caches: tuple[int, ...]
    ports: tuple[tuple[int, int], ...]
    buffers: tuple[int, ...]
    mandatory: tuple[bool, ...]
    series: tuple[tuple[str, str], ...]


def census(system: System) -> Census:
    """The census of a system that is built, whether or not it has run."""
    machines = tuple(machine.MACHINE for machine in system.protocol.machines)
    number = {name: place for place, name in enumerate(machines)}
    by_node = {each.machineID.node: number[each.MACHINE] for each in system.controllers}
    series: dict[tuple[str, str], int] = {}
    for name in machines:
        series.setdefault((name, TABLES), len(series))
    buffers = []
    for name, buffer in system.buffers.items():
        key = _series_of(name, buffer)
        buffers.append(series.setdefault(key, len(series)))
    queues = {id(each.mandatory_queue) for each in system.controllers}
    return Census(
        machines=machines,
        nodes=tuple(by_node[node] for node in sorted(by_node)),
        controllers=tuple(number[each.MACHINE] for each in system.controllers),
        caches=tuple(number[each.MACHINE] for each in system.controllers for _ in each.caches()),
        ports=tuple(
            (port.virtual_network, by_node[port.owner.node]) for port in system.network.ports
        ),
        buffers=tuple(buffers),
        mandatory=tuple(id(buffer) in queues for buffer in system.buffers.values()),
        series=tuple(series),
    )


def _series_of(name: str, buffer: MessageBuffer) -> tuple[str, str]:
    """Machine and parameter: instances of a machine are one series."""
    machine, _, parameter = name.partition(".")
    consumer = buffer.consumer
    return getattr(consumer, "MACHINE", machine.rstrip("0123456789")), parameter or name
