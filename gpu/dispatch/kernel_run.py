"""One dispatch while it runs: the groups that remain, and the initial state of their waves.

The command processor's arithmetic is here: descriptor and packet to registers. Invariant: a run
is over once all its groups have ended, or after its first fault.
Source: LLVM "User Guide for AMDGPU Backend", "Initial Kernel Execution State".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final

from gpu.code_object.kernel_descriptor import KernelDescriptor
from gpu.dispatch.launch import Demand, Fault, GroupStart, OnStop, WaveStart, no_line
from gpu.dispatch.occupancy import SGPR_GRANULE
from gpu.dispatch.work_groups import Size, clipped, group_counts, group_ids, wave_count, work_items
from gpu.generation import Generation
from gpu.hsa.activities import Event
from gpu.hsa.aql import KernelDispatch
from gpu.hsa.scratch import ScratchPool
from gpu.wave_size import round_up
from slicc.text.lazy_dataclass import dataclass

FIRST_WAVE: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a dispatch needs besides packet and descriptor.

    ``resource``: the four words of the scratch buffer. ``hidden_base``: what FLAT_SCRATCH counts
    from. The apertures are upper halves of addresses.
    """

    queue: int
    packet_id: int
    dispatch_pointer: int
    vmid: int = 0
    resource: tuple[int, int, int, int] = (0, 0, 0, 0)
    hidden_base: int = 0
    shared_aperture: int = 0
    private_aperture: int = 0


def user_sgprs(
    descriptor: KernelDescriptor,
    packet: KernelDispatch,
    around: Surroundings,
    scratch: int,
    generation: Generation,
) -> list[int]:
    """The scalar registers that all waves share, from s0 on.

    ``scratch``: address of the pool, 0 without. FLAT_SCRATCH begins with it on GFX9, and with its
    offset from the hidden base and the size of a work-item's segment before.
    """
    private = round_up(packet.private_bytes, 4)
    offset = scratch - around.hidden_base if scratch else 0
    before = [offset & 0xFFFF_FFFF, private]
    values = {
        "private_segment_buffer": list(around.resource),
        "dispatch_ptr": _pair(around.dispatch_pointer),
        "queue_ptr": _pair(around.queue),
        "kernarg_segment_ptr": _pair(packet.kernarg),
        "dispatch_id": _pair(around.packet_id),
        "flat_scratch_init": _pair(scratch) if generation is Generation.GFX9 else before,
        "private_segment_size": [private],
    }
    registers = [word for each in descriptor.user_sgprs for word in values[each.name]]
    return registers + [0] * (descriptor.user_sgpr_count - len(registers))


def _pair(value: int) -> list[int]:
    return [value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF]


@dataclass(eq=False)
class KernelRun:
    """An active dispatch; `gpu.dispatch.dispatcher` places its groups.

    ``cus``: which compute units it may use, ascending. ``changed`` is called whenever a group's
    resources were released. ``interrupted`` is called with messages of waves. ``line_at``: as in
    `GroupStart`; ``function_at``, ``on_stop`` and ``trap_handler`` as well.
    """

    kernel: str
    packet: KernelDispatch
    descriptor: KernelDescriptor
    around: Surroundings
    pool: ScratchPool
    cus: tuple[int, ...]
    changed: Callable[[], None]
    failed: Callable[[KernelRun], None]
    interrupted: Callable[[int], None]
    line_at: Callable[[int], str] = no_line
    function_at: Callable[[int], str] = no_line
    on_stop: OnStop | None = None
    trap_handler: tuple[int, int] = (0, 0)
    generation: Generation = Generation.GFX8
    over: Event = field(default_factory=Event)
    fault: Fault | None = None
    running: int = 0
    next_group: Size | None = None
    _slots: dict[GroupStart, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._groups = group_ids(self.packet.grid, self.packet.group)
        self.next_group = next(self._groups)
        scratch = self.pool.base if self.scratch else 0
        self._shared = user_sgprs(
            self.descriptor, self.packet, self.around, scratch, self.generation
        )

    # ------------------------------------------------------------------ demand

    @property
    def packet_id(self) -> int:
        return self.around.packet_id

    @property
    def scratch(self) -> bool:
        """Whether its waves take slots of the queue's pool."""
        return self.packet.private_bytes > 0

    def demand(self, group_id: Size) -> Demand:
        """What a group takes of a compute unit."""
        items = clipped(self.packet.grid, self.packet.group, group_id)
        return Demand(
            waves=wave_count(items),
            vgprs=self.descriptor.vgprs,
            sgprs=round_up(self.descriptor.sgprs, SGPR_GRANULE),
            lds=self.packet.group_bytes,
            scratch=self.scratch,
        )

    @property
    def groups(self) -> int:
        """In the whole grid."""
        x, y, z = group_counts(self.packet.grid, self.packet.group)
        return x * y * z

    @property
    def finished(self) -> bool:
        """Every group has ended, or one has failed."""
        return self.fault is not None or (self.next_group is None and not self.running)

    # ------------------------------------------------------------------ groups

    def restrict(self, cus: tuple[int, ...]) -> tuple[int, ...]:
        """Use none but these units from now on; returns those of them that are new to it."""
        added = tuple(cu for cu in cus if cu not in self.cus)
        self.cus = tuple(cu for cu in self.cus if cu in cus)
        return added

    def allow(self, cus: tuple[int, ...]) -> None:
        """Use these units as well, whose caches hold nothing older than the dispatch."""
        self.cus = tuple(sorted({*self.cus, *cus}))
        self.changed()

    def start_next(self) -> GroupStart:
        """Make the next group and take its scratch slots."""
        assert self.next_group is not None, "called although no group is left"
        group = self._make(self.next_group)
        self.next_group = next(self._groups, None)
        self.running += 1
        return group

    def _make(self, group_id: Size) -> GroupStart:
        demand = self.demand(group_id)
        slots = self.pool.take(demand.waves) if self.scratch else []
        items = clipped(self.packet.grid, self.packet.group, group_id)
        ids = work_items(items, self.descriptor.work_item_ids)
        waves = []
        for number, (vgprs, lanes) in enumerate(ids):
            offset = slots[number] * self.pool.wave_bytes if slots else 0
            waves.append(
                WaveStart(
                    entry=self.packet.kernel_object + self.descriptor.entry_offset,
                    sgprs=self._sgprs(group_id, number, demand.waves, offset),
                    vgprs=vgprs,
                    exec=lanes,
                    mode=self.descriptor.mode,
                    number=number,
                    private_base=self.pool.base + offset if slots else 0,
                )
            )
        group = GroupStart(
            kernel=self.kernel,
            packet=self.around.packet_id,
            queue=self.around.queue,
            id=group_id,
            demand=demand,
            waves=waves,
            listener=self,
            vmid=self.around.vmid,
            private_bytes=round_up(self.packet.private_bytes, 4),
            shared_aperture=self.around.shared_aperture,
            private_aperture=self.around.private_aperture,
            hidden_private_base=self.around.hidden_base,
            generation=self.generation,
            line_at=self.line_at,
            function_at=self.function_at,
            trap_handler=self.trap_handler,
            dispatch_pointer=self.around.dispatch_pointer,
            on_stop=self.on_stop,
        )
        assert len(waves) == demand.waves
        if slots:
            self._slots[group] = slots
        return group

    def _sgprs(self, group_id: Size, number: int, waves: int, offset: int) -> list[int]:
        registers = self._shared.copy()
        for place, enabled in zip(group_id, self.descriptor.work_group_ids, strict=True):
            if enabled:
                registers.append(place)
        if self.descriptor.work_group_info:
            registers.append(waves | (0 if number else FIRST_WAVE))
        if self.descriptor.scratch:
            registers.append(offset)
        return registers

    # ------------------------------------------------------------------ GroupListener

    def group_ended(self, group: GroupStart) -> None:
        self.running -= 1
        self.pool.give_back(self._slots.pop(group, []))
        self.changed()
        if self.finished:
            self.over.fire()

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        if self.fault is None:
            self.stop(fault)
            self.failed(self)

    def interrupt(self, group: GroupStart, message: int) -> None:
        self.interrupted(message)

    def stop(self, fault: Fault) -> None:
        """The waves of the dispatch have been killed, or are about to be: no further group starts
        or ends."""
        self.fault = fault
        self.next_group = None
        self.running = 0
        for slots in self._slots.values():
            self.pool.give_back(slots)
        self._slots.clear()
        self.changed()
        self.over.fire()
