"""The processes of a device, and their VMIDs.

Invariant: no two processes that are alive have the same VMID, and no two that ever were have the
same address.
"""

from __future__ import annotations

from functools import partial

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.pipeline.timing_parameters import TlbParameters
from gpu.errors import HostError
from gpu.host.processes.machine import Machine
from gpu.host.processes.process import Agents, Process
from gpu.host.processes.translator import AddressTranslation
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.virtual.direct import DirectMemory
from gpu.memory.virtual.page_table import VMIDS, aperture


class ProcessTable:
    """``tlb``: how their addresses are translated."""

    def __init__(self, machine: Machine, tlb: TlbParameters) -> None:
        self._machine = machine
        self._tlb = tlb
        self._translation: AddressTranslation | None = None
        self._last: dict[int, Process] = {}
        """By VMID: the last process that has had it."""

    @property
    def alive(self) -> list[Process]:
        """The processes that have not ended, by VMID."""
        return [process for _, process in sorted(self._last.items()) if process.alive]

    @property
    def counters(self) -> dict[str, object] | None:
        """What the TLBs have counted; None before there is a process."""
        return None if self._translation is None else self._translation.as_dict()

    def create(self, agents: Agents) -> Process:
        """Raises HostError when all VMIDs are taken, and for units that run ahead of the clock
        while waves are resident."""
        taken = {process.vmid for process in self.alive}
        vmid = next((vmid for vmid in VMIDS if vmid not in taken), None)
        if vmid is None:
            raise HostError(f"there are {len(VMIDS)} VMIDs; no further process can be made")
        self._machine.need_the_clock("processes")
        self._machine.loop.settle()
        if self._translation is None:
            self._translation = self._translate()
        before = self._last.get(vmid)
        first = aperture(vmid).start if before is None else before.space.extent
        made = Process(agents, self._machine, self._translation, vmid, first)
        self._last[vmid] = made
        return made

    def _translate(self) -> AddressTranslation:
        machine = self._machine
        memory = machine.memory
        made = memory.translator = AddressTranslation(memory, machine.activities, self._tlb)
        if isinstance(memory, FlatMemory):
            for unit in machine.units:
                if isinstance(unit, FunctionalUnit):
                    unit.memory_of = partial(DirectMemory, memory, made)
        return made
