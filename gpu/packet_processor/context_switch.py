"""Takes a queue with running waves off the compute units and puts it back: its context save area.

The area is memory of the process: a header, the control stack with an entry for each group, and the
registers and LDS of the groups. What is put back is what is read there. Caches of the units are
clean of the queue's stores when it is off them, and empty when it continues.

Invariant: between `save` and `restore` no wave of the queue is on a unit, and none starts.

Source: D3, "Save-restore buffer"; the public header ``kfd_ioctl.h`` for the area's header. The
entries are this model's own: hardware's are not documented.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gpu.dispatch.dispatcher import Dispatcher
from gpu.dispatch.launch import GroupStart, PreemptableUnit, SavedGroup, SizedUnit
from gpu.errors import QueueError
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.aql import FenceScope
from gpu.hsa.queue_state import Connection
from gpu.hsa.struct_layout import Field, Layout
from gpu.memory.address_space import PAGE
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.fences import Fences
from gpu.wave_size import round_up

HEADER: Final = Layout(
    "context_save_area_header",
    40,
    (
        Field("control_stack_offset", 0, 4),
        Field("control_stack_size", 4, 4),
        Field("wave_state_offset", 8, 4),
        Field("wave_state_size", 12, 4),
    ),
)
ENTRY: Final = Layout(
    "saved_group",
    32,
    (
        Field("packet", 0, 8),
        Field("x", 8, 4),
        Field("y", 12, 4),
        Field("z", 16, 4),
        Field("waves", 20, 4),
        Field("offset", 24, 4),
        Field("size", 28, 4),
    ),
)
LEAST_AREA: Final = 1 << 20
DRAIN: Final = 16
"""Ticks between two looks at waves whose accesses have to return."""


@dataclass(slots=True, eq=False)
class SavedQueue:
    """A queue whose groups are in its area. ``groups``: by packet and id."""

    groups: dict[tuple[int, int, int, int], GroupStart]
    control_bytes: int
    wave_bytes: int


def area_bytes(units: Sequence[object]) -> tuple[int, int]:
    """What an area for a device's waves takes, in whole pages: header and control stack, and in
    all. At least what small devices have in common."""
    states = [unit.largest_state for unit in units if isinstance(unit, SizedUnit)]
    groups, data = sum(groups for groups, _ in states), sum(size for _, size in states)
    control = max(PAGE, round_up(HEADER.size + groups * ENTRY.size, PAGE))
    return control, max(LEAST_AREA, round_up(control + data, PAGE))


class ContextSwitch:
    """For queues that have a context save area."""

    def __init__(self, control: ControlPort, dispatcher: Dispatcher, fences: Fences) -> None:
        self._control = control
        self._dispatcher = dispatcher
        self._fences = fences
        self._saved: dict[Connection, SavedQueue] = {}

    def saved(self, link: Connection) -> SavedQueue | None:
        """What is in a queue's area while its groups are off the units."""
        return self._saved.get(link)

    def possible(self, link: Connection) -> bool:
        """Whether a queue has an area that its groups fit now, on units that let them go."""
        units = self._units
        if link.save_area is None or len(units) < len(self._dispatcher.units):
            return False
        if not all(unit.may_be_preempted for unit in units):
            return False
        sizes = [each for unit in units for each in unit.saved_bytes(link.queue)]
        sizes += [len(each.data) for each in self._dispatcher.waiting(link.queue)]
        return link.save_area.fits(HEADER.size, ENTRY.size, sizes)

    @property
    def _units(self) -> list[PreemptableUnit]:
        return [unit for unit in self._dispatcher.units if isinstance(unit, PreemptableUnit)]

    # ------------------------------------------------------------------ off the units

    def save(self, link: Connection) -> Steps[None]:
        """Take the groups of a queue off the units, for which it is `possible`."""
        assert link not in self._saved, "a queue is taken off once"
        queue = link.queue
        self._dispatcher.hold(queue)
        for unit in self._units:
            unit.halt(queue)
        activities = self._control.activities
        looked = activities.happened
        while not all(unit.drained(queue) for unit in self._units):
            yield Pause(DRAIN, looked=looked)
            looked = activities.happened
        groups = self._dispatcher.take_back(queue)
        groups += [saved for unit in self._units for saved in unit.take_off(queue)]
        self._dispatcher.changed()
        yield from self._fences.release(FenceScope.AGENT, link.used or link.cus)
        yield from self._write(link, groups)

    def _write(self, link: Connection, groups: Sequence[SavedGroup]) -> Steps[None]:
        area = link.save_area
        assert area is not None, "see possible"
        entries, data, offset = b"", b"", area.control_bytes
        for saved in groups:
            entries += _entry(saved, offset + len(data))
            data += saved.data
        assert HEADER.size + len(entries) <= offset, "see possible"
        assert len(entries) == ENTRY.size * len(groups)
        header = {
            "control_stack_offset": HEADER.size,
            "control_stack_size": len(entries),
            "wave_state_offset": offset,
            "wave_state_size": len(data),
        }
        self._saved[link] = SavedQueue(
            {_key(saved.start): saved.start for saved in groups}, len(entries), len(data)
        )
        yield from self._control.store(area.address + offset, data)
        yield from self._control.store(area.address, HEADER.pack(header) + entries)

    # ------------------------------------------------------------------ back

    def restore(self, link: Connection) -> Steps[None]:
        """Let a saved queue continue. Raises QueueError for an area that does not hold what was
        saved, and Unmapped."""
        saved = self._saved[link]
        groups = yield from self._read(link, saved)
        yield from self._fences.acquire(FenceScope.AGENT, link.cus, code=True)
        del self._saved[link]
        self._dispatcher.put_back(link.queue, groups)

    def _read(self, link: Connection, saved: SavedQueue) -> Steps[list[SavedGroup]]:
        area = link.save_area
        assert area is not None, "it was saved there"
        stack = yield from self._control.load(area.address + HEADER.size, saved.control_bytes)
        left, groups = dict(saved.groups), []
        for place in range(0, len(stack), ENTRY.size):
            fields = ENTRY.unpack(stack[place : place + ENTRY.size])
            key = (fields["packet"], fields["x"], fields["y"], fields["z"])
            start = left.pop(key, None)
            if start is None:
                raise QueueError("a save area holds the groups that were saved", f"group {key}")
            if not area.holds(fields["offset"], fields["size"]):
                raise QueueError("a saved group lies in its area", fields["offset"])
            data = yield from self._control.load(area.address + fields["offset"], fields["size"])
            groups.append(self._checked(SavedGroup(start, data)))
        return groups

    def _checked(self, saved: SavedGroup) -> SavedGroup:
        try:
            self._units[0].check(saved)
        except ValueError as error:
            raise QueueError("a save area holds waves that can continue", error) from None
        return saved

    def forget(self, link: Connection) -> None:
        """The queue has ended."""
        self._saved.pop(link, None)


def _key(start: GroupStart) -> tuple[int, int, int, int]:
    return (start.packet, *start.id)


def _entry(saved: SavedGroup, offset: int) -> bytes:
    x, y, z = saved.start.id
    fields = {
        "packet": saved.start.packet,
        "x": x,
        "y": y,
        "z": z,
        "waves": saved.start.demand.waves,
        "offset": offset,
        "size": len(saved.data),
    }
    return ENTRY.pack(fields)
