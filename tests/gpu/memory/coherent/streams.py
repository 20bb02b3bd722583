"""Random requests, and memories to try them on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from gpu.memory.address_space import PAGE
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import (
    EngineChoice,
    EngineMissing,
    LoadedSystem,
    choose_engine,
    load_system,
)
from gpu.memory.interface import (
    Answer,
    Memory,
    MemoryRequest,
    PortKind,
    Ports,
)
from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind

PROTOCOLS = ("GPU_VIPER", "GPU_VIPER_APU")
ENGINES = ("python", "native")
Numbers = np.random.Generator


@cache
def loaded(protocol: str, cus: int = 2, tccs: int = 2, delays: str = "nominal") -> LoadedSystem:
    settings = {"network.delays": delays}
    return load_system(protocol, cus=cus, tccs=tccs, settings=settings, native=True)


def on_engine(system: LoadedSystem, engine: str, seed: int = 1) -> CoherentMemory:
    """Skips where there is no compiler. Code that was not optimised does the same."""
    try:
        return choose_engine(system, EngineChoice(engine), seed, optimised=False).memory
    except EngineMissing as error:
        if "no C++ compiler" in str(error):
            pytest.skip(str(error))
        raise


def opened(
    protocol: str,
    cus: int = 2,
    tccs: int = 2,
    delays: str = "nominal",
    seed: int = 1,
    engine: str = "python",
) -> CoherentMemory:
    return on_engine(loaded(protocol, cus, tccs, delays), engine, seed)


def settle(memory: Memory) -> list[Answer]:
    """All answers, until nothing is under way."""
    answers = []
    while memory.busy:
        answers += memory.run(None)
    return answers


def ask(memory: Memory, request: MemoryRequest) -> list[Answer]:
    memory.push(request)
    return settle(memory)


def words(address: int, count: int = 1, step: int = 4) -> Any:
    return np.uint64(address) + np.arange(count, dtype=np.uint64) * np.uint64(step)


def random_request(
    numbers: Numbers, port: int, tag: int, starts: list[int], area: int = 1000
) -> MemoryRequest:
    """Any vector request: lanes may meet, cross lines, and lie in several allocations."""
    lanes = int(numbers.integers(1, 65))
    kind = int(numbers.integers(0, 3))
    atomic = kind == AccessKind.ATOMIC
    size = int(numbers.choice((4, 8) if atomic else (1, 2, 3, 4, 8, 12, 16)))
    align = size if atomic else int(numbers.choice((1, 4)))
    first: Any = numbers.choice(starts, lanes) if numbers.integers(0, 2) else starts[0]
    addresses = (first + numbers.integers(0, area // align, lanes) * align).astype(np.uint64)
    request = MemoryRequest(port, kind, tag, addresses, size)
    request.glc, request.slc, request.returns = (bool(n) for n in numbers.integers(0, 2, 3))
    if kind != AccessKind.LOAD:
        request.data = numbers.integers(0, 256, (lanes, size), dtype=np.uint8)
    if atomic:
        request.op = int(numbers.integers(0, AtomicKind.NUM))
        changed = numbers.integers(0, 2, (lanes, 1), dtype=np.uint8)
        request.compares = (request.data * changed).astype(np.uint8)
    return request


def random_scalar(numbers: Numbers, port: int, tag: int, start: int) -> MemoryRequest:
    """Any request of one lane, as a core makes it; it may cross lines."""
    kind = int(numbers.integers(0, 3))
    size = int(numbers.choice((4, 8) if kind == AccessKind.ATOMIC else (1, 2, 3, 4, 8, 12, 16)))
    align = size if kind == AccessKind.ATOMIC else 1
    where = words(start + align * int(numbers.integers(0, 900 // align)))
    request = MemoryRequest(port, kind, tag, where, size, returns=bool(numbers.integers(0, 2)))
    request.op = int(numbers.integers(0, AtomicKind.NUM))
    if kind != AccessKind.LOAD:
        request.data = numbers.integers(0, 256, (1, size), dtype=np.uint8)
        request.compares = request.data
    return request


def random_at(
    numbers: Numbers, ports: Ports, port: int, tag: int, starts: list[int]
) -> MemoryRequest:
    """Any request that a port takes, but for those of SQCs."""
    if port <= ports.control:
        return random_request(numbers, port, tag, starts)
    start = int(numbers.choice(starts))
    if ports[port].kind is PortKind.CPU:
        return random_scalar(numbers, port, tag, start)
    return random_transfer(numbers, port, tag, start)


def random_transfer(numbers: Numbers, port: int, tag: int, start: int) -> MemoryRequest:
    """Any request of a DMA engine."""
    kind, size = int(numbers.integers(0, 2)), int(numbers.integers(1, 65))
    request = MemoryRequest(port, kind, tag, words(start + int(numbers.integers(0, 900))), size)
    if kind == AccessKind.STORE:
        request.data = numbers.integers(0, 256, (1, size), dtype=np.uint8)
    return request


Event = tuple[object, ...]


def heard(answer: Answer) -> Event:
    data = None if answer.data is None else answer.data.tobytes()
    return answer.request.tag, answer.kind, answer.tick, answer.lanes.tolist(), data


def drive(memory: CoherentMemory, seed: int, steps: int = 100) -> list[Event]:
    """Requests of all kinds at all ports, many at a time; now and then the host reads."""
    numbers = np.random.default_rng(seed)
    ports = memory.ports
    starts = [memory.space.allocate(PAGE, memory_type=t).start for t in ("rw", "cc", "uc")]
    for start in starts:
        memory.write(start, numbers.bytes(PAGE))
    log: list[Event] = []
    tag = 0
    for _ in range(steps):
        for _ in range(int(numbers.integers(0, 5))):
            tag += 1
            port = (0, 1, ports.control)[int(numbers.integers(0, 3))]
            request = random_request(numbers, port, tag, starts)
            other = numbers.random()
            if other < 0.1:
                kind = int(numbers.integers(3, 5))
                request = MemoryRequest(int(numbers.integers(0, len(ports))), kind, tag)
            elif other < 0.3:
                port = (ports.scalar(0), ports.fetch(1))[int(numbers.integers(0, 2))]
                where = words(starts[0] + 4 * int(numbers.integers(0, 60)))
                request = MemoryRequest(port, AccessKind.LOAD, tag, where, 32)
            elif other < 0.35:
                where = words(starts[0] + 4 * int(numbers.integers(0, 60)))
                data = numbers.integers(0, 256, (1, 16), dtype=np.uint8)
                request = MemoryRequest(ports.scalar(0), AccessKind.STORE, tag, where, 16, data)
            elif other < 0.65 and len(ports) > ports.control + 1:
                port = int(numbers.integers(ports.control + 1, len(ports)))
                request = random_at(numbers, ports, port, tag, starts)
            memory.push(request)
        until = memory.now + int(numbers.integers(1, 200)) if numbers.integers(0, 2) else None
        log += [heard(answer) for answer in memory.run(until)]
        log.append((memory.now, memory.busy))
        if numbers.random() < 0.05:
            log += [heard(answer) for answer in settle(memory)]
            memory.write(starts[0] + int(numbers.integers(0, 900)), numbers.bytes(100))
    log += [heard(answer) for answer in settle(memory)]
    return [*log, *((memory.read(start, PAGE),) for start in starts), (memory.now,)]
