"""A process on a device: an address space, and what a host program has in it.

Invariant: no access of a process, of its kernels or of its host program reaches memory that its
page tables do not name, and its end stops no queue of another process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from gpu.host.dma import Dma
from gpu.host.processes.context import Context
from gpu.host.processes.machine import Machine
from gpu.host.processes.process_view import ProcessView
from gpu.host.processes.translator import AddressTranslation
from gpu.host.processors.cpu import Cpu
from gpu.host.queue_allocation import DOORBELL_BYTES, DOORBELLS
from gpu.host.topology import Topology
from gpu.hsa.queue_state import QueueState
from gpu.memory.virtual.page_table import aperture
from gpu.memory.virtual.process_space import ProcessSpace


class Agents(Protocol):
    """The device, as its processes see it."""

    def cpu(self, number: int) -> Cpu: ...

    def dma(self, number: int = 0) -> Dma: ...

    @property
    def topology(self) -> Topology: ...


class Process(Context):
    """What `gpu.host.device.Device.create_process` returns. ``first``: of its addresses."""

    def __init__(
        self,
        agents: Agents,
        machine: Machine,
        translation: AddressTranslation,
        vmid: int,
        first: int,
    ) -> None:
        self._agents = agents
        self._translation = translation
        self.space = ProcessSpace(vmid, machine.memory.space, first, translation.forget)
        """What it has mapped, and its page tables."""
        translation.add(self.space)
        self.alive = True
        page = self.space.map_doorbells(DOORBELLS * DOORBELL_BYTES, self._store)
        view = ProcessView(machine.memory, translation, self.space)
        super().__init__(machine, view, page.start, aperture(vmid).start, vmid)

    def __str__(self) -> str:
        return f"process {self.vmid}"

    def _store(self, address: int, data: bytes) -> None:
        self._rung(address - self.doorbells, data)

    @property
    def topology(self) -> Topology:
        """The device's, with this process's addresses as those of global memory."""
        table, addresses = self._agents.topology, aperture(self.vmid)
        memory = replace(table.memories[0], base=addresses.start, size=len(addresses))
        return replace(table, memories=(memory, *table.memories[1:]))

    def cpu(self, number: int) -> Cpu:
        """A core, with the addresses of this process. Raises HostError."""
        return Cpu(self, number, self._agents.cpu(number).port)

    def dma(self, number: int = 0) -> Dma:
        """A DMA engine, with the addresses of this process. Raises HostError."""
        return Dma(self, number, self._agents.dma(number).port.port)

    def forget_translations(self) -> None:
        """Drop what the TLBs keep, after the host program has written page tables itself."""
        self._translation.forget_all(self.vmid)

    def end(self) -> None:
        """End its waves and its queues, and give back all of its memory; its VMID is free again.

        What was launched completes with an error; nothing of it can be read any more.
        """
        if not self.alive:
            return
        for queue in self.queues:
            self.inactivate(queue, f"{self} has ended")
            queue.link.state = QueueState.DESTROYED
        self.settle()
        self.alive = False
        self._translation.remove(self.space)
        self.space.close()
