"""Random calls of several processes agree with a small model of their memory.

The model has no addresses: it knows what each buffer holds, and who has it. A kernel is launched
with buffers of its own process, with some that were freed, and with addresses of another process;
only the first may succeed, and the others change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gpu import Buffer, Device, Signal
from gpu.errors import HostError, KernelError
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.process import Process
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.virtual.page_table import VMIDS
from tests.gpu.host.devices import with_small_tlbs
from tests.gpu.host.random_calls import pick, run
from tests.gpu.kernels.stored import stored

COUNT = 20
CHOICE = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5])
VALUE = st.integers(-100, 100)


@dataclass(eq=False)
class ModelBuffer:
    buffer: Buffer
    values: np.ndarray[tuple[int], np.dtype[np.int32]]
    mapped: bool = True


@dataclass(eq=False)
class ModelProcess:
    """``where``: the process, or the device."""

    where: Process | Device
    vmid: int
    alive: bool = True
    buffers: list[ModelBuffer] = field(default_factory=list)
    queues: list[tuple[DeviceQueue, QueueState]] = field(default_factory=list)


class Calls(RuleBasedStateMachine):
    @initialize(timed=st.booleans())
    def begin(self, timed: bool) -> None:
        device = Device(memory=FlatMemory(cus=1)) if timed else Device(cus=1)
        self.device = with_small_tlbs(device)
        self.processes = [ModelProcess(self.device, 0)]
        for _ in range(2):
            self.create()
        for process in self.processes:
            self.alloc_in(process, 7)

    # ------------------------------------------------------------------ processes

    @rule()
    def create(self) -> None:
        free = [vmid for vmid in VMIDS if vmid not in self.taken]
        try:
            made = self.device.create_process()
        except HostError:
            assert not free
            return
        assert made.vmid == free[0]
        self.processes.append(ModelProcess(made, made.vmid))
        self.alloc_in(self.processes[-1], 1)

    @property
    def taken(self) -> set[int]:
        return {process.vmid for process in self.processes if process.alive}

    @rule(which=CHOICE, really=st.integers(0, 3))
    def end(self, which: int, really: int) -> None:
        process = pick(self.processes, which)
        if really or not isinstance(process.where, Process):
            return
        process.where.end()
        process.alive = False
        process.queues = [(queue, QueueState.DESTROYED) for queue, _ in process.queues]

    # ------------------------------------------------------------------ memory

    def alloc_in(self, process: ModelProcess, value: int) -> None:
        values = np.full(COUNT, value, np.int32)
        process.buffers.append(ModelBuffer(process.where.alloc(values), values))

    def pick_alive(self, which: int) -> ModelProcess:
        return pick([process for process in self.processes if process.alive], which)

    @rule(which=CHOICE, value=VALUE)
    def alloc(self, which: int, value: int) -> None:
        self.alloc_in(self.pick_alive(which), value)

    @rule(which=CHOICE, place=CHOICE)
    def free(self, which: int, place: int) -> None:
        process = self.pick_alive(which)
        found = pick(process.buffers, place)
        try:
            process.where.free(found.buffer)
        except HostError:
            assert not found.mapped
        found.mapped = False

    @rule(which=CHOICE, place=CHOICE, value=VALUE)
    def write(self, which: int, place: int, value: int) -> None:
        found = pick(self.pick_alive(which).buffers, place)
        if found.mapped:
            found.values[:] = value
            found.buffer.write(found.values)

    # ------------------------------------------------------------------ kernels

    @rule(which=CHOICE, whose=CHOICE, places=st.tuples(CHOICE, CHOICE, CHOICE), cut=st.booleans())
    def add(self, which: int, whose: int, places: tuple[int, int, int], cut: bool) -> None:
        process = self.pick_alive(which)
        # The last argument may be another process's.
        owners = [process, process, pick(self.processes, whose) if cut else process]
        found = [pick(owner.buffers, place) for owner, place in zip(owners, places, strict=True)]
        right = all(
            buffer.mapped and owner is process for owner, buffer in zip(owners, found, strict=True)
        )
        host = process.where.host
        arguments = [
            Buffer(host, each.buffer.address, (COUNT,), np.dtype(np.int32)) for each in found
        ]
        done, queue = Signal(1), process.where.create_queue()
        kernel = stored("vadd")["vadd_i"]
        queue.dispatch(kernel, COUNT, 64, arguments, completion=done)
        queue.ring()
        try:
            process.where.run(until=done)
        except KernelError as error:
            assert not right, error
            assert done.value == ERROR_VALUE
            process.queues.append((queue, QueueState.INACTIVE))
            return
        assert right and done.value == 0
        found[2].values[:] = found[0].values + found[1].values
        process.queues.append((queue, QueueState.ACTIVE))

    @rule(which=CHOICE, place=CHOICE)
    def destroy(self, which: int, place: int) -> None:
        process = self.pick_alive(which)
        if process.queues:
            number = max(0, len(process.queues) - 1 - place)
            queue, _ = process.queues[number]
            process.where.destroy(queue)
            process.queues[number] = (queue, QueueState.DESTROYED)

    # ------------------------------------------------------------------ what must hold

    @invariant()
    def all_is_as_the_model_says(self) -> None:
        for process in getattr(self, "processes", []):
            assert process.where not in self.device.processes or process.alive
            for queue, state in process.queues[-4:]:
                assert queue.state is state
            if process.alive:
                for each in process.buffers[-6:]:
                    if each.mapped:
                        np.testing.assert_array_equal(each.buffer.numpy(), each.values)


def test_a_sample() -> None:
    run(Calls, 15, 15)


@pytest.mark.fuzz
def test_20000_sequences() -> None:
    run(Calls, 20_000, 15)
