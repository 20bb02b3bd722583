"""A GPU as its host program sees it: memory, code objects, queues, time.

What its memory and its compute units are is chosen by `gpu.host.device`. Its own addresses are
those of memory itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu.dispatch.device_loop import Mover
from gpu.dispatch.launch import ComputeUnit
from gpu.host.processes.context import Context
from gpu.host.processes.context import OnError as OnError
from gpu.host.processes.machine import Machine
from gpu.host.processes.options import Options as Options
from gpu.host.processes.running import Until as Until
from gpu.host.queue_allocation import DOORBELL_BYTES, DOORBELLS
from gpu.host_wait import NoObserver, WaitObserver
from gpu.memory.interface import Memory
from gpu.trace import Trace


class BareDevice(Context):
    """Front end, compute units and memory put together; `gpu.host.device.Device` chooses them.

    ``units``: all compute units, in the order of their index. ``mover``: what lets them and memory
    run. ``observer``: looks for kernels that never end. ``trace``: notified of packets.
    ``waves_per_unit``: what a compute unit holds at once.
    """

    def __init__(
        self,
        memory: Memory,
        units: Sequence[ComputeUnit],
        options: Options,
        mover: Mover,
        observer: WaitObserver | None = None,
        trace: Trace | None = None,
        waves_per_unit: int = 40,
    ) -> None:
        observer = NoObserver() if observer is None else observer
        machine = Machine(memory, units, options, mover, observer, trace, waves_per_unit)
        self.units = units
        self.options = options
        self.packets = machine.packets
        self._scheduler = machine.scheduler
        self._dispatcher = machine.dispatcher
        page = memory.space.map_doorbells(DOORBELLS * DOORBELL_BYTES, self._store)
        super().__init__(machine, memory, page.start, options.apertures.hidden_base)

    def _store(self, address: int, data: bytes) -> None:
        self._rung(address - self.doorbells, data)

    @property
    def processor(self) -> str:
        """What the device is: what its code was compiled for, gfx803 before any is loaded."""
        return self.machine.processor
