"""Happens-before between waves: vector clocks, one for the group and one for the whole GPU.

A wave's time goes up at every point from which it may release. Knowing time t of a wave means:
whatever it did up to t happens before what comes now. On this GPU that has two degrees. Within a
group, waves share a first-level cache and LDS, and program order is enough. Beyond it, an access
must also have been performed (``s_waitcnt vmcnt(0)``), and the reader must have invalidated its
cache (``buffer_wbinvl1``); see the code sequences of the AMDGPU usage guide, "Memory model
GFX6-GFX9". Which of the two degrees applies is decided by `gpu.memory_model.scopes`.

For global memory those sequences are the same for a relaxed operation and for one at work-group
scope, so reports name both. Invariant: clocks only grow.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.memory_model.scopes import Position, Scope, narrowest

REMEMBERED: Final = 8
"""Acquires that are kept for reports."""

Clock = dict[int, int]
"""Number of a wave -> the time of it that is known."""


def join(clock: Clock, other: Clock) -> None:
    """Join another clock into this one."""
    for wave, time in other.items():
        if time > clock.get(wave, 0):
            clock[wave] = time


class Release(NamedTuple):
    """What a write publishes. ``within``: for waves of its group; ``beyond``: for all others."""

    writer: Position
    within: Clock
    beyond: Clock


class Knowledge:
    """One wave. ``seen``: happens before its next access. ``performed``: of all that, and of its
    own accesses, what the whole GPU can see. ``time``: of its accesses now.
    """

    __slots__ = (
        "_acquired",
        "_arrived",
        "_behind_load",
        "group",
        "name",
        "number",
        "performed",
        "position",
        "seen",
        "time",
    )

    def __init__(self, number: int, wave: Wavefront, group: int, start: Clock) -> None:
        self.number = number
        self.position = Position(group=group, wave=number)
        self.name = str(wave)
        self.group: Group[Any] = wave.group
        self.time = 1
        self.seen: Clock = dict(start)
        self.performed: Clock = dict(start)
        self._behind_load: list[Release] = []
        self._arrived: list[Release] = []
        self._acquired: list[Release] = []

    def publish(self) -> Release:
        """What an agent that reads this wave's next write learns."""
        within = dict(self.seen)
        within[self.number] = self.time
        return Release(self.position, within, dict(self.performed))

    def read(self, release: Release) -> None:
        """A load that may synchronise has found a published value."""
        self._behind_load.append(release)

    def waited(self, stores: bool) -> None:
        """``lgkmcnt(0)``, or with ``stores`` ``vmcnt(0)``: loads have returned, and then stores
        are performed."""
        for release in self._behind_load:
            if same_group(release.writer, self.position):
                join(self.seen, release.within)
            else:
                self._arrived.append(release)
            join(self.performed, release.beyond)
        self._behind_load.clear()
        if stores:
            self.performed[self.number] = self.time
            self.time += 1

    def invalidated(self) -> None:
        """``buffer_wbinvl1``: what comes now is not from before the loads that synchronised."""
        for release in self._arrived:
            join(self.seen, release.beyond)
        self._acquired = (self._acquired + self._arrived)[-REMEMBERED:]
        self._arrived.clear()

    def missing(self, wave: int, time: int, owner: Knowledge) -> str:
        """Why another wave's access is not known to happen before the next one, and which order
        and scope of which operation would see to it, as text."""
        for release in self._arrived:
            if release.beyond.get(wave, 0) >= time:
                return f"{self._wider('acquire', release)}: {_NO_INVALIDATION}"
        for release in self._behind_load:
            if max(release.beyond.get(wave, 0), release.within.get(wave, 0)) >= time:
                scope = narrowest(release.writer, self.position)
                return f"acquire at {scope} scope instead of relaxed: {_NO_WAIT}"
        for release in self._acquired:
            if release.within.get(wave, 0) >= time:
                return f"{self._wider('release', release)}: {_NOT_PERFORMED}"
        for release in self._arrived:
            if release.within.get(wave, 0) >= time:
                both = self._wider("release and acquire", release)
                return f"{both}: {_NOT_PERFORMED}, and {_NO_INVALIDATION}"
        scope = narrowest(owner.position, self.position)
        pair = f"a release behind the first and an acquire before the second at {scope} scope"
        if scope <= Scope.work_group:
            return (
                f"no barrier of the group and no atomic orders them; a barrier would, or {pair}, "
                "on one atomic"
            )
        return f"nothing orders them; {pair}, on one atomic, would"

    def _wider(self, order: str, release: Release) -> str:
        """What it would have to be, and what it is: only its group's part of it is there."""
        scope = narrowest(release.writer, self.position)
        return f"{order} at {scope} scope instead of {Scope.work_group} or relaxed"


_NO_INVALIDATION: Final = "after the load that synchronises there is no buffer_wbinvl1"
_NO_WAIT: Final = "the load that synchronises is not waited for"
_NOT_PERFORMED: Final = (
    "the store that synchronises did not wait with s_waitcnt vmcnt(0) until the first access was "
    "performed"
)


def same_group(one: Position, other: Position) -> bool:
    """Whether two waves share a first-level cache, LDS and barriers."""
    return narrowest(one, other) <= Scope.work_group
