"""What fences of system scope ask of the cache that a GPU shares.

Stores that a write-back cache keeps are performed for the GPU, but not visible to other agents. So
a release of system scope writes those lines back, and waits. An acquire of system scope invalidates
such a cache, where the description says that no other agent does; caches that a directory probes
need no such step. Invariant: a line is listed from the answer to the request that brought it until
a fence removes it, so that no fence misses what was performed before it.

Source: the AMDGPU usage guide, "Memory model GFX6-GFX9": the shared cache is kept coherent with
other agents on some targets, or addresses bypass it; HSA Platform System Architecture 1.0, 2.9.1:
packet fences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpu.memory.address_space import AddressSpace
from gpu.memory.interface import (
    MemoryRequest,
)
from gpu.wave_size import LANES
from runtime.description import SystemDescription
from runtime.requesters.port import AccessKind
from runtime.types.messages import AccessPermission
from slicc.text.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from runtime.controller.protocol_info import ProtocolInfo
    from runtime.controller.shapes import Controller

WRITE_BACK: Final = ("WB", "L2isWB")
"""Names of the parameter by which protocols let a shared cache keep stores."""


class CannotFence(ValueError):
    """The system needs a fence that its protocol cannot perform; the message says which."""


@dataclass(frozen=True, slots=True)
class SystemScope:
    """``writes_back``: the request that makes a line's dirty bytes leave the shared cache, None
    where it keeps none. ``invalidates``: an acquire drops its lines."""

    writes_back: int | None = None
    invalidates: bool = False


def system_scope(
    protocol: ProtocolInfo,
    described: SystemDescription,
    banks: str | None,
    vector: str,
    written: SystemDescription,
) -> SystemScope:
    """What fences have to do in a completed description.

    ``banks``: the group of machines that is the shared cache. ``vector``: the group of requesters
    of compute units. ``written``: the description with its rows of ``[[handover]]``, which say how
    bytes pass from and to wavefronts. Raises CannotFence.
    """
    keeps = _keeps_stores(described, banks)
    if keeps is None:
        keeps = _steps(written, vector, "flush")
    invalidates = _steps(written, vector, "invalidate_l2")
    if not keeps and not invalidates:
        return SystemScope()
    first = _class_of(protocol, described, described.requesters[vector].machine)
    if invalidates and not _events(first, "invl2"):
        raise CannotFence(
            f"a row of [[handover]] asks for invalidate_l2, but {first.MACHINE} of "
            f"{protocol.name} has no event for it"
        )
    if not keeps:
        return SystemScope(None, invalidates)
    if banks is None:
        raise CannotFence(
            "a row of [[handover]] asks for flushes, but nothing says which machine is the "
            "shared cache: name it, `gpu.ports.banks`"
        )
    shared = _class_of(protocol, described, banks)
    return SystemScope(_way_back(protocol.name, first, shared), invalidates)


def _keeps_stores(described: SystemDescription, banks: str | None) -> bool | None:
    """What the shared cache's own parameter says; None if it has none."""
    if banks is None:
        return None
    parameters = described.machines[banks].parameters
    return next((bool(parameters[name]) for name in WRITE_BACK if name in parameters), None)


def _steps(written: SystemDescription, vector: str, step: str) -> bool:
    """Whether a row asks for the step between wavefronts and agents that use other ports."""

    def wavefronts(agents: str) -> bool:
        return agents in written.agents and written.agents[agents].requester == vector

    return any(
        (step in row.giver_steps and wavefronts(row.giver) and not wavefronts(row.taker))
        or (step in row.taker_steps and wavefronts(row.taker) and not wavefronts(row.giver))
        for row in written.handovers
        if row.allowed and row.scope in ("", "system")
    )


def _class_of(protocol: ProtocolInfo, described: SystemDescription, group: str) -> type[Controller]:
    return protocol.machine(described.machines[group].of or group)


def _events(machine: type[Controller], word: str) -> list[int]:
    names = machine.EVENTS.members()
    return [number for number, name in enumerate(names) if word in name.lower()]


def _way_back(name: str, first: type[Controller], shared: type[Controller]) -> int:
    """The request that every state with dirty bytes has a transition for."""
    dirty = [
        state
        for state, permission in enumerate(shared.PERMISSIONS)
        if permission == AccessPermission.Read_Write
    ]
    for kind, word, ways in (
        (AccessKind.FLUSH, "flush", (first, shared)),
        (AccessKind.LOAD, "bypass", (shared,)),
    ):
        if all(_events(machine, word) for machine in ways):
            events, rows = _events(shared, word), vars(shared)["TRANSITIONS"]
            if all(any((state, event) in rows for event in events) for state in dirty):
                return kind
    states = shared.STATES.members()
    raise CannotFence(
        f"{shared.MACHINE} of {name} keeps stores, but has no transition by which a flush or a "
        f"load past it would write back a line in each of the states "
        f"{', '.join(states[state] for state in dirty)}: a release of system scope could not be "
        f"performed. Let stores be written through ({WRITE_BACK[0]} = false)"
    )


class SharedLines:
    """Lines that the shared cache may hold, of memory that may be cached there."""

    def __init__(
        self, scope: SystemScope, space: AddressSpace, line_size: int, control: int
    ) -> None:
        self._scope = scope
        self._space = space
        self._line_size = line_size
        self._control = control
        self._dirty: dict[int, None] = {}
        self._held: dict[int, None] = {}

    def note(self, request: MemoryRequest) -> None:
        """Note the lines of a request that has been answered as a whole."""
        if request.kind > AccessKind.ATOMIC or request.slc:
            return
        stores = request.kind != AccessKind.LOAD
        lists = [self._dirty] if stores and self._scope.writes_back is not None else []
        if self._scope.invalidates:
            lists.append(self._held)
        if not lists:
            return
        for line in self._lines(request):
            place = self._space.find(line)
            if place is not None and place.on_store is None and not place.memory_type.bypasses:
                for lines in lists:
                    lines[line] = None

    def _lines(self, request: MemoryRequest) -> list[int]:
        ends = np.concatenate([request.addresses, request.addresses + np.uint64(request.size - 1)])
        lines: list[int] = np.unique(ends & np.uint64(-self._line_size & (1 << 64) - 1)).tolist()
        return lines

    def steps(self, kind: int) -> list[list[MemoryRequest]]:
        """Requests of a fence, RELEASE or ACQUIRE, one list after the other."""
        steps = []
        back = self._scope.writes_back
        if back is not None and (kind == AccessKind.RELEASE or self._scope.invalidates):
            steps.append(self._requests(back, self._dirty))
        if kind == AccessKind.ACQUIRE and self._scope.invalidates:
            steps.append(self._requests(AccessKind.INVALIDATE_L2, self._held))
        return [step for step in steps if step]

    def _requests(self, kind: int, listed: dict[int, None]) -> list[MemoryRequest]:
        lines = np.array(sorted(line for line in listed if self._space.find(line)), np.uint64)
        listed.clear()
        return [
            MemoryRequest(self._control, kind, 0, lines[first : first + LANES], 1, slc=True)
            for first in range(0, len(lines), LANES)
        ]
