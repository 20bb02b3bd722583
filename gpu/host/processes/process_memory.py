"""What a host program has in one address space: memory, code objects, signals, events.

Invariant: whatever is made here lies in the memory of this process and in no other's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpu.code_object import CodeObject, Kernel, LoadedCodeObject, LoadedKernel, load
from gpu.errors import HostError
from gpu.host.buffer import Buffer
from gpu.host.host_access import DeviceHost
from gpu.host.printf import Printing
from gpu.host.processes.machine import Machine
from gpu.host.suballocator import Arena
from gpu.hsa.signal import SIGNAL, Signal
from gpu.memory.interface import Memory
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.events import EMPTY, SLOT, SLOTS, EventPage, HostEvent


class ProcessMemory:
    """``memory``: as the process sees it, whose addresses ``vmid`` stands for."""

    def __init__(self, machine: Machine, memory: Memory, vmid: int = 0) -> None:
        self.machine = machine
        self.units = machine.units
        self.memory = memory
        self.vmid = vmid
        self.options = options = machine.options
        self._control = ControlPort(machine.activities, vmid=vmid, space=memory.space)
        self.host = DeviceHost(
            machine.loop, memory, self._control, self._interrupt, options.pace.poll
        )
        self.printing = Printing(memory.space, self.host, options.printf_bytes, options.printf)
        self._signals = Arena(memory.space, "cc", "signals")
        self._arguments = Arena(memory.space, "cc", "kernel arguments")
        self._loaded: dict[int, LoadedCodeObject] = {}
        self._kernels: dict[int, LoadedKernel] = {}
        self.events = self._make_events()

    def _make_events(self) -> EventPage:
        page = self.memory.space.allocate(SLOTS * SLOT, memory_type="cc", name="event mailboxes")
        self.memory.write(page.start, EMPTY.to_bytes(SLOT, "little") * SLOTS)
        return EventPage(self._control, page.start)

    def _interrupt(self, message: int) -> None:
        self.events.interrupt(message)

    def settle(self) -> None:
        """Let memory answer all requests made so far; waves do not run meanwhile."""
        self.machine.loop.settle()

    # ------------------------------------------------------------------ memory

    def alloc(self, values: npt.ArrayLike, mtype: str = "rw", name: str = "buffer") -> Buffer:
        """Device memory that holds a copy of an array.

        ``mtype``: ``rw`` cached, ``cc`` coherent with other agents, ``uc`` not cached.
        """
        array = np.asarray(values)
        if array.dtype == object:
            raise HostError("an array of Python objects cannot be copied to a device")
        buffer = self._allocate(array.shape, array.dtype, mtype, name)
        buffer.write(array)
        return buffer

    def alloc_like(
        self, values: npt.ArrayLike | Buffer, mtype: str = "rw", name: str = "buffer"
    ) -> Buffer:
        """Zeroed device memory of the shape and type of an array or `Buffer`."""
        if not isinstance(values, Buffer):
            values = np.asarray(values)
        return self._allocate(values.shape, values.dtype, mtype, name)

    def _allocate(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], mtype: str, name: str
    ) -> Buffer:
        size = max(1, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        try:
            made = self.memory.space.allocate(size, memory_type=mtype, name=name)
        except ValueError as error:
            raise HostError(str(error)) from None
        return Buffer(self.host, made.start, shape, dtype)

    def free(self, buffer: Buffer) -> None:
        """Unmap a buffer; a kernel that still uses it fails. Raises HostError if it is not mapped
        here."""
        if buffer.host is not self.host:
            raise HostError("the buffer belongs to another device")
        try:
            self.memory.space.free(buffer.address)
        except ValueError as error:
            raise HostError(str(error)) from None

    def arguments(self, data: bytes) -> int:
        """Address of a copy that is aligned as an argument segment; 0 for no bytes."""
        if not data:
            return 0
        address = self._arguments.allocate(len(data))
        self.host.write(address, data)
        return address

    # ------------------------------------------------------------------ code

    def load(self, code_object: CodeObject) -> LoadedCodeObject:
        """Load a code object into memory, once. Raises HostError for what is none."""
        if not isinstance(code_object, CodeObject):
            raise HostError(f"{code_object!r} is no code object: CodeObject.load(FILE) reads one")
        loaded = self._loaded.get(id(code_object))
        if loaded is None:
            self.settle()
            self.machine.check_processor(code_object)
            loaded = load(code_object, self.memory)
            self.machine.note_processor(code_object)
            self._loaded[id(code_object)] = loaded
            for kernel in loaded.kernels.values():
                self._kernels[kernel.object_address] = kernel
        return loaded

    def loaded_kernel(self, kernel: Kernel | LoadedKernel) -> LoadedKernel:
        """A kernel at its address; loads its code object if need be. Raises HostError for one that
        only another device has loaded."""
        if isinstance(kernel, LoadedKernel):
            here = self._kernels.get(kernel.object_address)
            if here is None or here.kernel.owner is not kernel.kernel.owner:
                raise HostError(f"kernel {kernel.name} was loaded by another device")
            return kernel
        if kernel.owner is None:
            raise HostError(f"kernel {kernel.name} belongs to no code object")
        return self.load(kernel.owner).kernels[kernel.name]

    def register(self, kernel: LoadedKernel) -> None:
        """Let packets name a kernel that the host has written to memory itself."""
        self._kernels[kernel.object_address] = kernel

    @property
    def loaded_kernels(self) -> tuple[LoadedKernel, ...]:
        """All, in the order in which they were loaded."""
        return tuple(self._kernels.values())

    def kernel_at(self, address: int) -> LoadedKernel | None:
        """The kernel whose descriptor lies there."""
        return self._kernels.get(address)

    # ------------------------------------------------------------------ signals, events

    def signal(self, value: int = 1) -> Signal:
        """A new user signal in this device's memory."""
        signal = Signal(value)
        self.handle_of(signal)
        return signal

    def handle_of(self, signal: Signal) -> int:
        """A signal's address; a signal without a device is bound to this one."""
        if not signal.bound:
            signal.bind(self.host, self._signals.allocate(SIGNAL.size))
        elif not signal.belongs_to(self.host):
            raise HostError(f"{signal} belongs to another device")
        return signal.handle

    def create_event(self, signal: Signal | None = None) -> HostEvent:
        """An event, which happens whenever ``signal`` is changed."""
        event = self.events.create()
        if signal is not None:
            self.handle_of(signal)
            signal.notify_by(event.mailbox, event.id)
        return event
