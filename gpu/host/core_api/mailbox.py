"""The mailbox of a queue, through which stopped work-groups and the host talk (execution control).

There is a slot for each group that the device can hold. When a wave stops at a debugger's trap, the
slot of its group is filled in, the slot's full flag set to 1, and 1 added to the mailbox's signal;
the wave continues when the host sets the flag to 0. HSAIL's ``syscall`` has no counterpart in
machine code, so no slot ever says that. The queue object has pointer and signal at the offsets of
D2's own structure, which are reserved in the later one.

Invariant: between the flag's 1 and its 0 the device does not write to a slot.
Source: D2, section 2.12.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import Final

import numpy as np

from gpu.host.core_api.contexts import Context
from gpu.host.core_api.queues import QueueCalls
from gpu.host.core_api.status import call_with_output, need
from gpu.host.debugging.debugger import Debugger, Stop
from gpu.host.device import Device
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.process import Process
from gpu.hsa.signal import Signal
from gpu.hsa.struct_layout import Field, Layout
from gpu.wave_size import LANES
from slicc.text.lazy_dataclass import dataclass

DEBUGTRAP: Final = 1
"""``hsa_interrupt_condition_t``."""
MOST_ITEMS: Final = 1024
MAILBOX_POINTER: Final = 40
MAILBOX_SIGNAL: Final = 48
"""Offsets in the queue object."""

SLOT: Final = Layout(
    "hsa_group_execution_info_t",
    80,
    (
        Field("full_flag", 0, 8),
        Field("workgroup_size", 8, 2),
        Field("condition", 16, 8),
        Field("workitem_id", 24, 8),
        Field("compute_unit_id", 32, 8),
        Field("aql_packet_ptr", 40, 8),
        Field("virtual_address", 48, 8),
        Field("current_program_counter", 56, 8),
        Field("args", 64, 8),
        Field("syscall_output", 72, 8),
    ),
)
"""Pointers to arrays of one element a work-item; ``args`` points at the number of the trap."""

_ARRAYS: Final = {
    "condition": 4,
    "workitem_id": 4,
    "compute_unit_id": 4,
    "aql_packet_ptr": 8,
    "virtual_address": 8,
    "current_program_counter": 8,
}
"""Bytes of an element."""

_Group = tuple[int, tuple[int, int, int]]
"""Packet and group id: names one while it runs."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """``address``: of the first slot. ``signal``: a handle. ``slots``: how many there are."""

    address: int
    signal: int
    slots: int


@dataclass(eq=False)
class _Slot:
    address: int
    flag: Signal
    arrays: dict[str, int] = field(default_factory=dict)
    """Where they lie, once the slot was used."""
    group: _Group | None = None
    waiting: deque[Stop] = field(default_factory=deque)
    """Waves of the group, the first one in the slot."""


class MailboxCalls(QueueCalls):
    """``execution_control``: queues have mailboxes. Raises HostError as `Debugger` does."""

    def __init__(
        self,
        device: Device | Process,
        timestamp_mhz: int,
        timeout_ticks: int,
        packets: str,
        execution_control: bool,
    ) -> None:
        super().__init__(device, timestamp_mhz, timeout_ticks, packets)
        self._execution_control = execution_control
        self._mailboxes: dict[int, tuple[Mailbox, list[_Slot]]] = {}
        """By address of the queue object."""
        if execution_control:
            Debugger(device, self._stopped)

    @call_with_output
    def queue_mailbox(self, queue: DeviceQueue | None) -> Mailbox:
        """What D2's structure has as ``mailbox_ptr``, ``mailbox_signal`` and
        ``queue_active_group_count_global``. Refused without execution control."""
        queue = self._queue(queue)
        need(self._execution_control)
        return self._mailboxes[queue.address][0]

    # ------------------------------------------------------------------ queues

    def _created(self, queue: DeviceQueue, context: Context) -> None:
        super()._created(queue, context)
        if not self._execution_control:
            return
        device = self.device
        count = sum(agent.compute_units * agent.waves for agent in device.topology.components)
        start = device.memory.space.allocate(
            count * SLOT.size, memory_type="cc", name=f"mailbox of {queue.link.name}"
        ).start
        slots = [
            _Slot(start + number * SLOT.size, self._signal_for(context)) for number in range(count)
        ]
        mailbox = Mailbox(start, self._signal_for(context).handle, count)
        for slot in slots:
            device.host.write(slot.address, slot.flag.handle.to_bytes(8, "little"))
        for offset, value in (
            (MAILBOX_POINTER, mailbox.address),
            (MAILBOX_SIGNAL, mailbox.signal),
        ):
            device.host.write(queue.address + offset, value.to_bytes(8, "little"))
        self._mailboxes[queue.address] = mailbox, slots

    def _destroying(self, queue: DeviceQueue) -> None:
        """Before the waves of a queue end: nothing waits for the flags of its slots any more."""
        super()._destroying(queue)
        mailbox, slots = self._mailboxes.pop(queue.address, (None, []))
        for slot in slots:
            slot.waiting.clear()
            if slot.flag.handle in self._signals:
                slot.flag.store(0)
                self._destroy(slot.flag.handle)
        if mailbox is not None and mailbox.signal in self._signals:
            self._destroy(mailbox.signal)

    def _signal_for(self, context: Context) -> Signal:
        signal = self.device.signal(0)
        self._signals[signal.handle] = signal, [context]
        return signal

    # ------------------------------------------------------------------ stops

    def _stopped(self, stop: Stop) -> None:
        """A wave has stopped. One of a queue without a mailbox continues at once."""
        found = self._mailboxes.get(stop.queue)
        if found is None:
            stop.resume()
            return
        group = stop.packet_id, stop.group
        mailbox, slots = found
        slot = next((each for each in slots if each.group == group), None)
        if slot is None:
            slot = next(each for each in slots if each.group is None)
            slot.group = group
        slot.waiting.append(stop)
        if len(slot.waiting) == 1:
            self._fill(mailbox, slot)

    def _fill(self, mailbox: Mailbox, slot: _Slot) -> None:
        """Describe the first wave that waits, and notify the host."""
        stop, host = slot.waiting[0], self.device.host
        if not slot.arrays:
            self._allocate(slot)
        first, count = stop.wave * LANES, stop.items
        values = {
            "condition": DEBUGTRAP,
            "compute_unit_id": stop.compute_unit,
            "aql_packet_ptr": stop.packet,
            "virtual_address": 0,
            "current_program_counter": stop.pc,
        }
        for name, size in _ARRAYS.items():
            row = np.zeros(MOST_ITEMS, f"<u{size}")
            items = slice(first, first + count)
            row[items] = np.arange(first, first + count) if name == "workitem_id" else values[name]
            host.write(slot.arrays[name], row.tobytes())
        host.write(slot.arrays["args"], stop.trap.to_bytes(8, "little"))
        fields = slot.arrays | {
            "full_flag": slot.flag.handle,
            "workgroup_size": stop.group_size,
        }
        host.write(slot.address, SLOT.pack(fields))
        slot.flag.store(1)
        if mailbox.signal in self._signals:
            self._signals[mailbox.signal][0].add(1)
        self.device.call_after(slot.flag, lambda: self._emptied(mailbox, slot, stop))

    def _allocate(self, slot: _Slot) -> None:
        sizes = _ARRAYS | {"args": 8}
        place = self.device.memory.space.allocate(
            sum(size * MOST_ITEMS for size in sizes.values()), memory_type="cc", name="mailbox slot"
        ).start
        for name, size in sizes.items():
            slot.arrays[name] = place
            place += size * MOST_ITEMS

    def _emptied(self, mailbox: Mailbox, slot: _Slot, stop: Stop) -> None:
        """The host is done with a slot."""
        if not slot.waiting or slot.waiting[0] is not stop:
            return  # the queue was destroyed
        slot.waiting.popleft()
        stop.resume()
        if slot.waiting:
            self._fill(mailbox, slot)
        else:
            slot.group = None
