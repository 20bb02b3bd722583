"""A GPU as its host program sees it: memory, code objects, queues, time.

What its memory and its compute units are is chosen by `gpu.host.device`. Its own addresses are
those of memory itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu.compute_unit.pipeline.timing_parameters import TlbParameters
from gpu.dispatch.device_loop import Mover
from gpu.dispatch.launch import ComputeUnit
from gpu.host.processes.context import Context
from gpu.host.processes.context import OnError as OnError
from gpu.host.processes.machine import Machine, Stepped
from gpu.host.processes.options import Options as Options
from gpu.host.processes.process import Process
from gpu.host.processes.process_table import ProcessTable
from gpu.host.processes.running import Until as Until
from gpu.host.queue_allocation import DOORBELL_BYTES, DOORBELLS
from gpu.host_wait import NoObserver, WaitObserver
from gpu.memory.interface import Memory
from gpu.trace import Trace


class BareDevice(Context):
    """Front end, compute units and memory put together; `gpu.host.device.Device` chooses them.

    ``units``: all compute units, in the order of their index. ``mover``: what lets them and memory
    run. ``observer``: looks for kernels that never end. ``trace``: notified of packets.
    ``waves_per_unit``: what a compute unit holds at once. ``tlb``: how addresses of processes are
    translated. ``stepped``: see `gpu.host.processes.machine.Machine`.
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
        tlb: TlbParameters | None = None,
        stepped: Stepped | None = None,
    ) -> None:
        observer = NoObserver() if observer is None else observer
        machine = Machine(memory, units, options, mover, observer, trace, waves_per_unit, stepped)
        self.packets = machine.packets
        self._process_table = ProcessTable(machine, tlb or TlbParameters())
        page = memory.space.map_doorbells(DOORBELLS * DOORBELL_BYTES, self._store)
        super().__init__(machine, memory, page.start, options.apertures.hidden_base)

    def _store(self, address: int, data: bytes) -> None:
        self._rung(address - self.doorbells, data)

    @property
    def processor(self) -> str:
        """What the device is: what its code was compiled for, gfx803 before any is loaded."""
        return self.machine.processor

    # ------------------------------------------------------------------ processes

    @property
    def processes(self) -> list[Process]:
        """The processes that are alive, by VMID."""
        return self._process_table.alive

    def run(self, until: Until | None = None, limit: int | None = None) -> None:
        """See `Context.run`; errors of all processes are raised."""
        try:
            super().run(until, limit)
        finally:
            for process in self.processes:
                process.printing.collect()

    @property
    def failed(self) -> bool:
        return super().failed or any(process.failed for process in self.processes)

    @property
    def stopping(self) -> bool:
        return super().stopping or any(process.stopping for process in self.processes)

    def raise_error(self) -> None:
        super().raise_error()
        for process in self.processes:
            process.raise_error()
