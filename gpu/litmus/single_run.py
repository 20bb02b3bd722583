"""One launch of a litmus test on a device of its own: a run of each of its instances.

Invariant: the outcomes depend on the test, its sequences and the situation alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import structs

from gpu.code_object.code_object import Kernel as DescribedKernel
from gpu.code_object.kernel_descriptor import read_descriptor
from gpu.code_object.loader import LoadedKernel
from gpu.code_object.metadata import KernelMetadata
from gpu.code_object.targets import DEFAULT_PROCESSOR, Target
from gpu.host.device import Device
from gpu.host.device_core import Options
from gpu.host.task import Task
from gpu.litmus.core_program import Registers, core_program
from gpu.litmus.kernel import (
    ENTRY,
    RESULT_BYTES,
    Kernel,
    Layout,
    Sequences,
    as_written,
    build,
    result_number,
)
from gpu.litmus.situation import CORES, CUS, LINE, Situation, places, where
from gpu.memory.coherent.factory import (
    DEFAULT_PROTOCOL,
    EngineChoice,
    LoadedSystem,
    MemoryFactory,
    load_system,
)
from gpu.memory_model.program import Outcome, Program, Thread
from gpu.packet_processor.packet_processor import Pace
from gpu.wave_size import LANES, round_up
from runtime.description.parts import DelayedMessage
from runtime.native.plan import Capacities
from runtime.sim.delay_policy import SCRIPTED
from slicc.text.lazy_dataclass import dataclass

_GRANULE: Final = 1 << 16
_CODE_BYTES: Final = 1 << 16
PREPARATION: Final = 6_000
"""Ticks after the dispatch at which the threads begin: all waves have set up their registers."""
_NO_POLL: Final = 1 << 24
"""Ticks between two looks at a signal: the host is also notified of its change."""
_MOST_INSTRUCTIONS: Final = 200_000
_CAPACITIES: Final = Capacities(lines=5 << 10, logs=1 << 10, atomics=1 << 10, events=1 << 11)
"""At first: a few accesses, of which most need no more. Clearing memory for all that a GPU can have
under way took as long as the rest of a run."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What tests are run on. ``protocol``: None for GPU_VIPER, and for GPU_VIPER_APU if a test has
    threads of processors. ``processor``: whose code sequences and encodings waves execute."""

    protocol: str | None = None
    engine: EngineChoice = EngineChoice.auto
    processor: str = DEFAULT_PROCESSOR


@lru_cache(maxsize=64)
def _system(machine: Machine, tccs: int, delays: str, cores: bool) -> LoadedSystem:
    native = machine.engine is not EngineChoice.python
    settings: dict[str, object] = {"network.delays": delays}
    if cores:
        settings["machine.CorePair.count"] = CORES // 2
    protocol = machine.protocol or ("GPU_VIPER_APU" if cores else DEFAULT_PROTOCOL)
    return load_system(protocol, cus=CUS, tccs=tccs, settings=settings, native=native)


def open_device(machine: Machine, situation: Situation) -> Device:
    """A device at rest."""
    system = _system(machine, situation.tccs, situation.delays, bool(situation.cores))
    if situation.held:
        system = _holding(system, memory_start(machine, bool(situation.cores)), situation)
    factory = _factory(machine, bool(situation.cores))
    memory = factory.open(system.kernel, situation.key, capacities=_CAPACITIES).memory
    options = Options(pace=Pace(poll=_NO_POLL))
    return Device(memory=memory, most_instructions=_MOST_INSTRUCTIONS, options=options)


@lru_cache(maxsize=8)
def _factory(machine: Machine, cores: bool) -> MemoryFactory:
    return MemoryFactory(_system(machine, 1, "nominal", cores), machine.engine)


def _holding(system: LoadedSystem, memory: int, situation: Situation) -> LoadedSystem:
    """A system that delays the requests that the situation holds."""
    description = system.kernel.description
    script = []
    for each in situation.held:
        line = memory + situation.offsets[each.name]
        sender = f"{system.kernel.vector_cache(each.unit)}.requestFromTCP"
        channel = f"{sender}->TCC{line // LINE % situation.tccs}.requestFromTCP"
        script.append(DelayedMessage(channel, each.number, each.ticks, line))
    network = structs.replace(description.network, delays=SCRIPTED, script=tuple(script))
    described = structs.replace(description, network=network)
    return replace(system, kernel=replace(system.kernel, description=described))


@lru_cache(maxsize=8)
def memory_start(machine: Machine, cores: bool) -> int:
    """Where the memory of a test is, on every new device."""
    kernel = _system(machine, 1, "nominal", cores).kernel
    return _allocate(Device(memory=_factory(machine, cores).open(kernel).memory), cores, _GRANULE)


def _allocate(device: Device, cores: bool, size: int) -> int:
    kind = "cc" if cores else "rw"
    space = device.memory.space
    size = round_up(size, _GRANULE)
    return space.allocate(size, memory_type=kind, name="litmus memory").start


def _size(program: Program, situation: Situation) -> int:
    """Bytes of the memory of a test."""
    ends = [LINE, *(where(p, situation.offsets) + LINE for p in places(program))]
    return max(ends) + situation.apart * (situation.instances - 1)


def run_instances(
    program: Program,
    situation: Situation,
    machine: Machine,
    *,
    opencl: bool = False,
    sequences: Sequences = as_written,
    device: Device | None = None,
) -> list[Outcome]:
    """The outcome of each instance. Raises what a device raises."""
    device = open_device(machine, situation) if device is None else device
    space = device.memory.space
    count = situation.instances
    memory = _allocate(device, bool(situation.cores), _size(program, situation))
    size = max(1, len(program.terms)) * RESULT_BYTES * count
    results = space.allocate(size, name="litmus results").start
    for place, value in program.initial.items():
        data, first = value.to_bytes(place.size, "little"), memory + where(place, situation.offsets)
        for instance in range(count):
            device.host.write(first + situation.apart * instance, data)
    start = device.now + PREPARATION
    layout = Layout(memory, results, start)
    kernel = build(
        *(program, situation, layout),
        processor=machine.processor,
        opencl=opencl,
        sequences=sequences,
    )
    loaded = _loaded(device, kernel, machine.processor)
    queue = device.create_queue()
    done = device.signal(1)
    queue.dispatch(
        loaded, kernel.groups * kernel.waves * LANES, kernel.waves * LANES, completion=done
    )
    queue.ring()
    cores = _started(device, program, situation, layout)
    device.run(done)
    for _, task in cores:
        device.run(task)
    values = _values(device, program, situation, memory, results)
    for thread, task in cores:
        for instance, registers in enumerate(task.result):
            for name, value in registers.items():
                values[instance][result_number(program, thread, name)] = value
    return [tuple(each) for each in values]


def _started(
    device: Device, program: Program, situation: Situation, layout: Layout
) -> list[tuple[Thread, Task[list[Registers]]]]:
    """The threads of processors."""
    found = []
    for thread in program.threads:
        if thread.position.agent == "cpu":
            core = device.cpu(situation.cores[thread.position.group])
            places = layout.memory, layout.start
            task = core.start(core_program, thread, situation, *places, lambda: device.now)
            found.append((thread, task))
    return found


def _values(
    device: Device, program: Program, situation: Situation, memory: int, results: int
) -> list[list[int]]:
    """By instance."""
    count, registers = situation.instances, len(program.terms) - len(program.observed)
    columns: list[list[int]] = []
    if registers:
        data = device.host.read(results, RESULT_BYTES * registers * count)
        columns += np.frombuffer(data, "<u8").reshape(registers, count).tolist()
    for place in program.observed:
        first, apart = where(place, situation.offsets), situation.apart
        data = device.host.read(memory + first, apart * (count - 1) + place.size)
        columns.append(
            [
                int.from_bytes(data[apart * n : apart * n + place.size], "little")
                for n in range(count)
            ]
        )
    return [list(each) for each in zip(*columns, strict=True)]


def _loaded(device: Device, kernel: Kernel, processor: str) -> LoadedKernel:
    address = device.memory.space.allocate(_CODE_BYTES, name="litmus code").start
    device.memory.write(address, kernel.image)
    descriptor = read_descriptor(kernel.image[:64])
    metadata = KernelMetadata(
        "litmus", "litmus.kd", (), 0, 8, kernel.lds, 0, 64, descriptor.sgprs, descriptor.vgprs, 1024
    )  # fmt: skip
    target, size = Target(processor), len(kernel.image) - ENTRY
    described = DescribedKernel("litmus", 3, target, metadata, descriptor, 0, ENTRY, size)
    loaded = LoadedKernel(described, address, address + ENTRY)
    device.register(loaded)
    return loaded
