"""Busy arrays, small tables, bounded buffers and slow controllers, as a shape asks for them.

What a transition does when it has no room is code of the protocol as well: it is tried again, and
must then do what it would have done at once. Which tables and buffers a transition checks is known
from its row, and so is how much it needs. A controller of few transitions a cycle shows whom its
ports prefer: requests that are tried again and again may leave no turn to what they wait for.

Invariant: a transition always finds room in the end. A table or buffer has at least what the
neediest row asks for; only buffers that empty without the help of another machine are bounded
(those towards the network and memory: a message leaves them when its latency is over), and tables
only where rows check them, or statements ask for their room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from protocols.accepted_requests import called_functions
from runtime.controller.declarations import BufferParameter, once_a_class
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.wakeup import Controller
from runtime.description import SystemDescription
from tester.identity_cache import once_for_the_same
from tester.profiles.machine_roles import find_roles
from tester.profiles.profile_draw import Shape

_ENTRIES: Final = "number_of_TBEs"
_TABLE: Final = re.compile(r"number_of_(\w+_)?TBEs")
_ROOM: Final = "areNSlotsAvailable"
"""Whether a table has room, asked by the author's own statements."""
_TO_MEMORY: Final = "requestToMemory"
_TURNS: Final = "transitions_per_cycle"


def limits(
    shape: Shape, protocol: ProtocolInfo, description: SystemDescription
) -> dict[str, object]:
    """Assignments for `SystemDescription.override` that limit a completed description."""
    if not shape.limited:
        return {}
    return {
        **dict(_arrays(shape, protocol, description)),
        **dict(_tables(shape, protocol, description)),
        **dict(_buffers(shape, protocol, description)),
        **dict(_turns(shape, description)),
    }


_LEFT_OUT: Final = frozenset({"machine", "parameters", "buffer", "cache", "capacity"})


class Limit(NamedTuple):
    """A resource that a system has less of than its protocol's description says.

    ``kind``: what is limited, as reports call it. ``usual`` is the description's value.
    """

    kind: str
    path: str
    value: object
    usual: object

    def __str__(self) -> str:
        return f"{self.path} = {_text(self.value)} (usual: {_text(self.usual)})"

    @property
    def short(self) -> str:
        """``TCC.requestToNB=2``."""
        parts = [part for part in self.path.split(".") if part not in _LEFT_OUT]
        return f"{'.'.join(parts)}={_text(self.value)}"


def limits_in(description: SystemDescription, usual: SystemDescription) -> list[Limit]:
    """What is limited in a completed description, compared with the protocol's own one."""
    found = []
    tables = _tables_of(usual)
    for name, machine in description.machines.items():
        whole = usual.machines.get(name)
        if whole is None or not machine.count:
            continue
        place = f"machine.{name}"
        for cache, built in machine.caches.items():
            if built.resource_stalls and not whole.caches[cache].resource_stalls:
                path = f"{place}.cache.{cache}.resource_stalls"
                found.append(Limit("busy banks", path, True, False))
        for table in tables[name]:
            entries = machine.parameters.get(table)
            usually = _usual_entries(name, table, description, usual)
            if entries != usually:
                path = f"{place}.parameters.{table}"
                found.append(Limit("small tables", path, entries, usually))
        turns, usual_turns = machine.parameters.get(_TURNS), whole.parameters.get(_TURNS)
        if turns != usual_turns:
            path = f"{place}.parameters.{_TURNS}"
            found.append(Limit("slow controllers", path, turns, usual_turns))
        for buffer, stated in machine.buffers.items():
            room, usual_room = stated.capacity, whole.buffers[buffer].capacity
            if room and room != usual_room:
                path = f"{place}.buffer.{buffer}.capacity"
                found.append(Limit("bounded buffers", path, room, usual_room))
    return found


def _usual_entries(
    name: str, table: str, description: SystemDescription, usual: SystemDescription
) -> object:
    """What a table has in a system with these counts, by the protocol's own description."""
    derived = usual.machines[name].derived.get(table)
    if derived is None or derived.count is None:
        return usual.machines[name].parameters.get(table)
    return (description.machines[derived.count].count or 0) * derived.times + derived.plus


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _arrays(
    shape: Shape, protocol: ProtocolInfo, description: SystemDescription
) -> Iterator[tuple[str, object]]:
    if not shape.busy_cycles:
        return
    values = {
        "resource_stalls": True,
        "tag_banks": shape.array_banks,
        "data_banks": shape.array_banks,
        "tag_latency": 1,
        "data_latency": shape.busy_cycles,
        "atomic_latency": shape.busy_cycles,
        "atomic_alus": shape.array_banks,
    }
    for name, machine in _machines(protocol, description):
        if _uses_arrays(machine):
            for cache in description.machines[name].caches:
                for field, value in values.items():
                    yield f"machine.{name}.cache.{cache}.{field}", value


def _tables(
    shape: Shape, protocol: ProtocolInfo, description: SystemDescription
) -> Iterator[tuple[str, object]]:
    roles = find_roles(protocol, description)
    caches = roles.first + roles.private + roles.second + roles.processors
    most = {
        **dict.fromkeys(caches, shape.entries),
        **dict.fromkeys(roles.directories, shape.directory_entries),
        **dict.fromkeys(roles.dmas, shape.dma_entries),
    }
    for name, machine in _machines(protocol, description):
        entries, usual = most.get(name), description.machines[name].parameters
        if not entries:
            continue
        buffers = _buffer_names(machine)
        need = max((n for target, n in _needs(machine).items() if target not in buffers), default=0)
        if need and _ENTRIES in usual:
            yield f"machine.{name}.parameters.{_ENTRIES}", max(need, entries)
        elif _ROOM in called_functions(machine):
            for table in _tables_of(description)[name]:
                yield f"machine.{name}.parameters.{table}", min(int(usual[table]), entries)


@once_for_the_same(4)
def _tables_of(description: SystemDescription) -> dict[str, list[str]]:
    """By machine: the parameters that say how many transactions its tables have room for."""
    return {
        name: [parameter for parameter in machine.parameters if _TABLE.fullmatch(parameter)]
        for name, machine in description.machines.items()
    }


def _buffers(
    shape: Shape, protocol: ProtocolInfo, description: SystemDescription
) -> Iterator[tuple[str, object]]:
    if not shape.send_slots:
        return
    for name, machine in _machines(protocol, description):
        needs = _needs(machine)
        for buffer in machine.PARAMETERS:
            if not isinstance(buffer, BufferParameter):
                continue
            sends = buffer.direction == "To" and buffer.virtual_network is not None
            need = needs.get(buffer.name, 0)
            if need and (sends or buffer.name == _TO_MEMORY):
                yield f"machine.{name}.buffer.{buffer.name}.capacity", need * shape.send_slots


def _turns(shape: Shape, description: SystemDescription) -> Iterator[tuple[str, object]]:
    if not shape.transitions:
        return
    for name, group in description.machines.items():
        if group.count:
            yield f"machine.{name}.parameters.{_TURNS}", shape.transitions


def _machines(
    protocol: ProtocolInfo, description: SystemDescription
) -> Iterator[tuple[str, type[Controller]]]:
    for name, group in description.machines.items():
        if group.count:
            yield name, protocol.machine(group.of or name)


@once_a_class
def _uses_arrays(machine: type[Controller]) -> bool:
    return any(row.requests for row in machine.TRANSITIONS.values())


@once_a_class
def _needs(machine: type[Controller]) -> Mapping[str, int]:
    """How many slots the neediest row asks for, by object."""
    most: dict[str, int] = {}
    for row in machine.TRANSITIONS.values():
        for need in row.needs:
            most[need.target] = max(most.get(need.target, 0), need.count)
    return most


@once_a_class
def _buffer_names(machine: type[Controller]) -> frozenset[str]:
    return frozenset(p.name for p in machine.PARAMETERS if isinstance(p, BufferParameter))
