"""Queues of contexts: their life, and the calls for their indices.

Invariant: a queue made here reports its error to its context, once, when it has become inactive.
Source: D2, section 2.5 and appendix A.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from gpu.errors import HostError
from gpu.host.core_api.contexts import Context
from gpu.host.core_api.signals import SignalCalls
from gpu.host.core_api.status import INVALID, Outcome, Status, call, call_with_output, need
from gpu.host.device import Device
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.process import Process
from gpu.host.topology import Agent
from gpu.hsa.queue import LAST_INDEX, PACKETS, check_size
from gpu.hsa.signal import ERROR_VALUE, Signal

DEFAULT_QUEUE: Final = 0
"""``queue_type``: in order, the only one."""


class QueueCalls(SignalCalls):
    """``packets``: the header of packets, as in `Device.create_queue`."""

    def __init__(
        self, device: Device | Process, timestamp_mhz: int, timeout_ticks: int, packets: str
    ) -> None:
        super().__init__(device, timestamp_mhz, timeout_ticks)
        if packets not in PACKETS:
            raise HostError(f"packets is {' or '.join(map(repr, PACKETS))}, not {packets!r}")
        self._packets = packets
        self._queues: dict[DeviceQueue, Context] = {}

    # ------------------------------------------------------------------ their life

    @call_with_output
    def queue_create(
        self, component: Agent | None, size: int, queue_type: int, context: Context | None
    ) -> DeviceQueue:
        """``hsa_queue_create``: of ``size`` packets, a power of two."""
        self._component(component)
        context = self._valid(context)
        need(queue_type == DEFAULT_QUEUE)
        try:
            check_size(size)
        except HostError:
            raise Outcome(INVALID) from None
        try:
            queue = self.device.create_queue(
                size, packets=self._packets, on_error=partial(self._queue_failed, context)
            )
        except (HostError, ValueError):
            raise Outcome(Status.ERROR_OUT_OF_RESOURCES) from None
        self._queues[queue] = context
        self._created(queue, context)
        return queue

    def _created(self, queue: DeviceQueue, context: Context) -> None:
        """What else a new queue needs; the calls for mailboxes extend this."""

    def _destroying(self, queue: DeviceQueue) -> None:
        """What other groups of calls do before a queue is destroyed."""

    @call
    def queue_destroy(self, queue: DeviceQueue | None) -> None:
        """``hsa_queue_destroy``: what it has not completed completes with an error."""
        queue = self._queue(queue)
        self._destroying(queue)
        del self._queues[queue]
        self.device.destroy(queue)

    @call
    def queue_force_inactivate(self, queue: DeviceQueue | None) -> None:
        """``hsa_queue_force_inactivate``: ends its kernels; its memory can still be inspected."""
        self.device.inactivate(self._queue(queue), "made inactive by hsa_queue_force_inactivate")

    def _relinquish(self) -> None:
        for queue in list(self._queues):
            self._destroying(queue)
            self.device.destroy(queue)
        self._queues.clear()
        super()._relinquish()

    def _queue(self, queue: DeviceQueue | None) -> DeviceQueue:
        need(queue in self._queues)
        assert queue is not None, "None is no queue"
        return queue

    # ------------------------------------------------------------------ indices

    def queue_get_read_index(self, queue: DeviceQueue) -> int:
        """``hsa_queue_get_read_index``. These getters and setters have no status, and D2 leaves
        open what they do with a queue that is none: they raise HostError."""
        return self._indexed(queue).read_index

    def queue_get_write_index(self, queue: DeviceQueue) -> int:
        """``hsa_queue_get_write_index``."""
        return self._indexed(queue).write_index

    def queue_set_write_index(self, queue: DeviceQueue, value: int) -> int:
        """``hsa_queue_set_write_index``: the index before. The last index that there is stops the
        queue, here and below; on a queue that is not active, nothing changes."""
        old = self._indexed(queue, value).write_index
        queue.store_write_index(value & LAST_INDEX)
        return self._checked(queue, old)

    def queue_cas_write_index(self, queue: DeviceQueue, expected: int, value: int) -> int:
        """``hsa_queue_cas_write_index``: the index before."""
        known = self._indexed(queue, expected, value)
        old = known.exchange_write_index(expected & LAST_INDEX, value & LAST_INDEX)
        return self._checked(queue, old)

    def queue_add_write_index(self, queue: DeviceQueue, value: int) -> int:
        """``hsa_queue_add_write_index``: the index before."""
        known = self._indexed(queue, value)
        return self._checked(queue, known.add_write_index(value & LAST_INDEX))

    def _checked(self, queue: DeviceQueue, old: int) -> int:
        if queue.link.active and queue.write_index == LAST_INDEX:
            self.device.fail_queue(queue, "a write index is below its maximum", LAST_INDEX)
        return old

    def _indexed(self, queue: DeviceQueue, *values: int) -> DeviceQueue:
        if not self.is_open or queue not in self._queues:
            raise HostError("no such queue: it was destroyed, or this runtime has not made it")
        for value in values:
            if not isinstance(value, int):
                raise HostError(f"an index is an integer, not {value!r}")
        return queue

    # ------------------------------------------------------------------ children

    @call
    def children_track(self, parent: int, children: int, whole: int) -> None:
        """Appendix A: ``whole`` completes once a parent and all that it has launched have.

        ``parent``: completion signal of the parent's packet, which is 1 until then. ``children``:
        one more for each packet that is to come, added before the packet is written, by kernel or
        host; the completion signal of those packets, of children's children too. ``whole`` is
        decremented after both have come to 0, or gets the error value if one of them is negative.
        """
        signals = [self._signal(handle) for handle in (parent, children, whole)]
        need(len({signal.handle for signal in signals}) == 3)
        need(all(signal.value > ERROR_VALUE for signal in signals))
        first, second, last = signals
        self.device.complete_after((first, second), last)

    def signal_of(self, handle: int) -> Signal | None:
        """The signal, for packets' ``completion=``; None where there is none."""
        found = self._signals.get(handle)
        return None if found is None else found[0]
