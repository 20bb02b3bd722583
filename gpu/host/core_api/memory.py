"""Registered ranges of memory, and memory of a component alone.

Registration changes nothing about how memory behaves: D2 has it as a hint. Component-local memory
is device memory that is neither registered nor written by the host but through the copy.

Invariant: registrations are kept by their base, each with the largest size asked for.
Source: D2, sections 2.10 and 2.11.
"""

from __future__ import annotations

from gpu.host.core_api.contexts import ContextCalls
from gpu.host.core_api.status import Outcome, Status, call, call_with_output, need
from gpu.host.device import Device
from gpu.host.processes.process import Process
from gpu.host.topology import Agent
from gpu.memory.address_space import Allocation, Unmapped


class MemoryCalls(ContextCalls):
    """See the module."""

    def __init__(self, device: Device | Process, timestamp_mhz: int) -> None:
        super().__init__(device, timestamp_mhz)
        self._registered: dict[int, int] = {}
        self._local: set[int] = set()
        """Where component-local allocations start."""

    def _relinquish(self) -> None:
        super()._relinquish()
        self._registered.clear()
        self.device.settle()
        for address in sorted(self._local):
            self.device.memory.space.free(address)
        self._local.clear()

    # ------------------------------------------------------------------ registration

    @property
    def registered(self) -> dict[int, int]:
        """Base and size of all registrations; a copy."""
        return dict(self._registered)

    @call
    def memory_register(self, address: int, size: int) -> None:
        """``hsa_memory_register``: a range inside one allocation; ranges may overlap, and of
        several with one base the largest counts. Null and 0 are refused: D2 has it both ways."""
        need(address > 0 and size > 0)
        self._system(address, size)
        self._registered[address] = max(size, self._registered.get(address, 0))

    @call
    def memory_deregister(self, address: int) -> None:
        """``hsa_memory_deregister``: all registrations with this base."""
        need(address)
        if self._registered.pop(address, None) is None:
            raise Outcome(Status.INFO_NOT_REGISTERED)

    # ------------------------------------------------------------------ component-local

    @call_with_output
    def memory_allocate_component_local(self, component: Agent | None, size: int) -> int:
        """``hsa_memory_allocate_component_local``: the address; null for size 0."""
        self._component(component)
        need(size >= 0)
        if not size:
            return 0
        try:
            made = self.device.memory.space.allocate(size, name="component-local memory")
        except ValueError:
            raise Outcome(Status.ERROR_OUT_OF_RESOURCES) from None
        self._local.add(made.start)
        return made.start

    @call
    def memory_free_component_local(self, address: int) -> None:
        """``hsa_memory_free_component_local``; null does nothing."""
        if not address:
            return
        need(address in self._local)
        self.device.settle()
        self.device.memory.space.free(address)
        self._local.remove(address)

    @call
    def memory_copy_component_local_to_system(
        self, destination: int, source: int, size: int
    ) -> None:
        """``hsa_memory_copy_component_local_to_system``, of any number of bytes."""
        need(size >= 0)
        from_place, to_place = self._place(source, size), self._system(destination, size)
        need(from_place.start in self._local and to_place.writable)
        if size:
            self.device.host.write(destination, self.device.host.read(source, size))

    def _place(self, address: int, size: int) -> Allocation:
        """The allocation that has all of a range, doorbells apart. Raises Outcome."""
        try:
            return self.device.memory.space.at(address, size, loads=True)
        except Unmapped:
            raise Outcome(Status.ERROR_INVALID_ARGUMENT) from None

    def _system(self, address: int, size: int) -> Allocation:
        """The allocation of a range, if it is no component's own. Raises Outcome."""
        found = self._place(address, size)
        need(found.start not in self._local)
        return found
