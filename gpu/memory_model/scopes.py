"""Scopes, where threads are, and whether two operations are in scope of each other.

The one place that decides this. HSA arranges threads in a tree (system, agent, work-group,
wavefront, work-item); a scope names a level of it, and an instance of a scope is the subtree that
the operation's thread is in.

Invariant: `inclusive` is symmetric, and widening a scope never makes it false.
"""

from __future__ import annotations

from enum import IntEnum

from slicc.text.lazy_dataclass import dataclass


class Scope(IntEnum):
    """From narrow to wide. OpenCL: work-item, sub-group, work-group, device, all devices."""

    work_item = 0
    wavefront = 1
    work_group = 2
    agent = 3
    system = 4

    def __str__(self) -> str:
        return _SPELLED[self]


_SPELLED = {
    Scope.work_item: "work-item",
    Scope.wavefront: "wavefront",
    Scope.work_group: "work-group",
    Scope.agent: "agent",
    Scope.system: "system",
}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a thread is. A core of a processor is a group of the agent that holds all cores:
    ``Position("cpu", core)``. Numbers count within what is before them."""

    agent: str = "gpu"
    group: int = 0
    wave: int = 0
    lane: int = 0


def narrowest(one: Position, other: Position) -> Scope:
    """The narrowest scope with an instance that both threads are in."""
    if one.agent != other.agent:
        return Scope.system
    if one.group != other.group:
        return Scope.agent
    if one.wave != other.wave:
        return Scope.work_group
    return Scope.work_item if one.lane == other.lane else Scope.wavefront


def inclusive(one: Position, its: Scope, other: Position, others: Scope) -> bool:
    """Whether each operation's scope instance contains the other operation's thread."""
    return min(its, others) >= narrowest(one, other)
