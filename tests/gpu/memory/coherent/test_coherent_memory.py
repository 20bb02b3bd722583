"""Memory behind the caches of the shipped protocols."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu.memory.address_space import PAGE, Misaligned, Unmapped
from gpu.memory.coherent.coherent_memory import CoherentMemory, MemoryStuck
from gpu.memory.coherent.factory import load_system
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import Answer, MemoryRequest
from runtime.description import DescriptionError, SystemDescription
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.types.atomic_op import AtomicKind
from tests.gpu.memory.coherent.opened import python_memory
from tests.gpu.memory.coherent.streams import (
    ENGINES,
    PROTOCOLS,
    ask,
    loaded,
    on_engine,
    opened,
    random_at,
    settle,
    words,
)

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC
ACQUIRE, RELEASE = AccessKind.ACQUIRE, AccessKind.RELEASE
TYPES = ("rw", "cc", "uc")


@pytest.fixture(params=[(p, e) for p in PROTOCOLS for e in ENGINES], ids="-".join)
def memory(request: pytest.FixtureRequest) -> CoherentMemory:
    protocol, engine = request.param
    return opened(protocol, engine=engine)


def load(memory: CoherentMemory, port: int, address: int, size: int = 4, **fields: Any) -> int:
    (answer,) = ask(memory, MemoryRequest(port, LOAD, 1, words(address), size, **fields))
    assert answer.data is not None
    return int.from_bytes(answer.data.tobytes(), "little")


def store(memory: CoherentMemory, port: int, address: int, value: int) -> list[Answer]:
    data = np.frombuffer(value.to_bytes(4, "little"), np.uint8)[None]
    return ask(memory, MemoryRequest(port, STORE, 2, words(address), 4, data))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("seed", "delays"), [(1, "nominal"), (2, "uniform"), (3, "heavy_tail")])
def test_one_port_at_a_time_behaves_like_flat_memory(protocol: str, seed: int, delays: str) -> None:
    """Every kind of request on every type of memory, of one agent after the other; between two of
    them the first one releases, the second one acquires."""
    numbers = np.random.default_rng(seed)
    memory, flat = opened(protocol, delays=delays, seed=seed), FlatMemory(cus=2)
    starts = [memory.space.allocate(PAGE, memory_type=each).start for each in TYPES]
    assert starts == [flat.space.allocate(PAGE).start for _ in TYPES]
    for start in starts:
        contents = numbers.bytes(PAGE)
        memory.write(start, contents)
        flat.write(start, contents)
    port, ports = 0, memory.ports
    others = range(ports.control, len(ports))
    for tag in range(120):
        if tag % 10 == 9:
            ask(memory, MemoryRequest(port, RELEASE, tag))
            port = (0, 1, *others)[int(numbers.integers(0, 2 + len(others)))]
            ask(memory, MemoryRequest(port, ACQUIRE, tag))
        request = random_at(numbers, ports, port, tag, starts)
        alike = replace(request, port=flat.ports.control)
        expected = sorted(ask(flat, alike), key=lambda answer: answer.kind)
        answers = sorted(ask(memory, request), key=lambda answer: answer.kind)
        assert [a.kind for a in answers] == [a.kind for a in expected]
        for answer, right in zip(answers, expected, strict=True):
            assert answer.request is request
            assert answer.lanes.tolist() == right.lanes.tolist()
            assert (answer.data is None) == (right.data is None)
            if answer.data is not None and right.data is not None:
                assert np.array_equal(answer.data, right.data), (tag, request)
        if tag % 20 == 19:
            place = starts[int(numbers.integers(0, 3))] + int(numbers.integers(0, 900))
            patch = numbers.bytes(int(numbers.integers(1, 150)))
            memory.write(place, patch)
            flat.write(place, patch)
            ask(memory, MemoryRequest(port, ACQUIRE, tag))
        if tag % 30 == 29:
            for start in starts:
                assert memory.read(start, PAGE) == flat.read(start, PAGE)
    assert memory.backend.waiting() == []


def test_a_store_is_accepted_and_then_performed(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    accepted, performed = store(memory, 0, start, 7)
    assert (accepted.kind, performed.kind) == (AnswerKind.ACCEPTED, AnswerKind.PERFORMED)
    assert 1 <= accepted.tick < performed.tick < memory.now
    assert memory.read(start, 4) == b"\7\0\0\0"


def test_an_acquire_makes_the_stores_of_others_seen(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    assert load(memory, 0, start) == 0
    store(memory, 1, start, 7)
    assert load(memory, 0, start) == 0, "still in the first unit's own cache"
    assert load(memory, 0, start, glc=True) == 7
    assert load(memory, 0, start + 4) == 0
    store(memory, 1, start + 4, 8)
    ask(memory, MemoryRequest(0, ACQUIRE, 1))
    assert load(memory, 0, start + 4) == 8


def test_memory_that_is_not_cached_needs_no_acquire(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64, memory_type="uc").start
    assert load(memory, 0, start) == 0
    store(memory, 1, start, 7)
    assert load(memory, 0, start) == 7


def test_scalar_loads_and_fetches_of_any_length(memory: CoherentMemory) -> None:
    start = memory.space.allocate(256).start
    contents = bytes(range(256))
    memory.write(start, contents)
    for size in (1, 2, 4, 8, 12, 16, 20, 32, 64):
        for offset in (0, 4, 44, 60):
            for port in (memory.ports.scalar(0), memory.ports.fetch(1)):
                found = load(memory, port, start + offset, size)
                assert found.to_bytes(size, "little") == contents[offset : offset + size]


def test_scalar_data_may_be_old_until_its_cache_is_emptied(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    port = memory.ports.scalar(0)
    assert load(memory, port, start) == 0
    memory.write(start, b"\5")
    assert load(memory, port, start) == 0
    ask(memory, MemoryRequest(port, ACQUIRE, 1))
    assert load(memory, port, start) == 5


def test_caches_that_only_read_say_so(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    data = np.zeros((1, 4), np.uint8)
    for port, kind in (("scalar", ATOMIC), ("fetch", STORE), ("fetch", ATOMIC)):
        number = getattr(memory.ports, port)(0)
        with pytest.raises(ValueError, match="only read"):
            memory.push(MemoryRequest(number, kind, 1, words(start), 4, data))


def test_scalar_stores_are_seen_by_their_own_cache_and_by_others(memory: CoherentMemory) -> None:
    start = memory.space.allocate(128).start
    port = memory.ports.scalar(0)
    assert load(memory, port, start, 64) == 0
    for number, offset in enumerate((0, 60, 4)):
        data = np.full((1, 16), number + 1, np.uint8)
        memory.push(MemoryRequest(port, STORE, 10 + number, words(start + offset), 16, data))
    memory.push(MemoryRequest(port, RELEASE, 20))
    answers = settle(memory)
    kinds = [(a.request.tag, a.kind) for a in answers]
    for tag in (10, 11, 12):
        assert kinds.index((tag, AnswerKind.ACCEPTED)) < kinds.index((tag, AnswerKind.PERFORMED))
    assert kinds[-1] == (20, AnswerKind.SYNCHRONIZED) and len(kinds) == 7
    right = bytearray(128)
    for number, offset in enumerate((0, 60, 4)):
        right[offset : offset + 16] = bytes([number + 1] * 16)
    for number in (port, 0, memory.ports.control):
        assert load(memory, number, start, 16) == int.from_bytes(right[:16], "little")
    assert load(memory, port, start + 60, 32) == int.from_bytes(right[60:92], "little")
    assert memory.read(start, 128) == bytes(right)


def test_packets_are_loaded_through_the_control_port(memory: CoherentMemory) -> None:
    start = memory.space.allocate(PAGE).start
    contents = bytes(range(128))
    memory.write(start, contents)
    port = memory.ports.control
    assert load(memory, port, start + 8, 64).to_bytes(64, "little") == contents[8:72]
    memory.write(start + 8, b"new")
    assert load(memory, port, start + 8, 3) == int.from_bytes(b"new", "little")


@pytest.mark.parametrize("memory_type", TYPES)
def test_atomics_of_a_unit_and_of_the_front_end_are_atomic_with_each_other(
    memory: CoherentMemory, memory_type: str
) -> None:
    start = memory.space.allocate(64, memory_type=memory_type).start
    flat = FlatMemory()
    assert flat.space.allocate(64).start == start
    steps = ((0, 5), (memory.ports.control, 9), (1, 5), (0, 2))
    for kind, (port, value) in itertools.product(range(AtomicKind.NUM), steps):
        data = np.full((2, 4), value, np.uint8)
        fields: dict[str, Any] = {"data": data, "compares": data ^ 1, "op": kind, "returns": True}
        old = ask(memory, MemoryRequest(port, ATOMIC, 1, words(start, 2, 0), **fields))
        right = ask(flat, MemoryRequest(0, ATOMIC, 1, words(start, 2, 0), **fields))
        assert np.array_equal(old[0].data, right[0].data)  # type: ignore[arg-type]
    assert memory.read(start, 64) == flat.read(start, 64)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_host_agrees_with_a_shared_cache_that_keeps_stores(protocol: str, engine: str) -> None:
    settings = {"machine.TCC.parameters.WB": True}
    memory = on_engine(load_system(protocol, cus=2, settings=settings, native=True), engine)
    start = memory.space.allocate(PAGE).start
    memory.write(start, bytes(range(128)))
    store(memory, 0, start + 4, 0xAABBCCDD)
    assert memory.backend.peek(start + 4, 4) == b"\4\5\6\7", "the line is dirty in the cache"
    right = bytearray(range(128))
    right[4:8] = b"\xdd\xcc\xbb\xaa"
    assert memory.read(start, 128) == bytes(right)
    memory.write(start + 6, b"host")
    right[6:10] = b"host"
    assert memory.read(start, 128) == bytes(right)
    assert load(memory, 1, start + 4, 8) == int.from_bytes(right[4:12], "little")
    store(memory, 1, start + 64, 1)
    right[64:68] = b"\1\0\0\0"
    assert memory.read(start, 128) == bytes(right)


def test_doorbells_hear_of_stores_beside_stores_to_memory(memory: CoherentMemory) -> None:
    heard: list[tuple[int, bytes]] = []
    bells = memory.space.map_doorbells(PAGE, lambda address, data: heard.append((address, data)))
    start = memory.space.allocate(64).start
    data = np.array([[1] * 4, [2] * 4, [3] * 4], np.uint8)
    addresses = np.array([bells.start + 8, start, bells.start], np.uint64)
    answers = ask(memory, MemoryRequest(0, STORE, 1, addresses, 4, data))
    assert [a.kind for a in answers] == [AnswerKind.ACCEPTED, AnswerKind.PERFORMED]
    assert heard == [(bells.start + 8, b"\1" * 4), (bells.start, b"\3" * 4)]
    assert memory.read(start, 4) == b"\2" * 4
    memory.push(MemoryRequest(0, STORE, 2, words(bells.start), 4, data[:1]))
    first = memory.now
    answers = memory.run(None)
    assert [(a.kind, a.tick) for a in answers] == [
        (AnswerKind.ACCEPTED, first),
        (AnswerKind.PERFORMED, first),
    ]
    assert len(heard) == 3 and memory.now == first + 1
    with pytest.raises(Unmapped, match="doorbell"):
        memory.push(MemoryRequest(0, LOAD, 1, words(bells.start), 4))


def test_bad_addresses_are_named_and_leave_no_trace(memory: CoherentMemory) -> None:
    start = memory.space.allocate(PAGE).start
    code = memory.space.allocate(PAGE, writable=False, name="code").start
    data = np.zeros((2, 4), np.uint8)
    addresses = np.array([start, start + PAGE], np.uint64)
    with pytest.raises(Unmapped, match="nothing is mapped there") as caught:
        memory.push(MemoryRequest(0, STORE, 1, addresses, 4, data))
    assert caught.value.lane == 1
    with pytest.raises(Unmapped, match="may not be written"):
        memory.push(MemoryRequest(0, STORE, 1, words(code), 4, data[:1]))
    with pytest.raises(Misaligned):
        memory.push(MemoryRequest(0, ATOMIC, 1, words(start + 2), 4, data[:1]))
    assert not memory.busy and memory.run(None) == []


def test_time_goes_no_further_than_asked(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    memory.push(MemoryRequest(0, LOAD, 1, words(start)))
    assert memory.run(4) == [] and memory.now == 4 and memory.busy
    assert memory.run(4) == [] and memory.now == 4
    answers = []
    while not answers:
        answers = memory.run(memory.now + 1)
    assert answers[0].tick == memory.now - 1


def test_a_part_of_an_answer_is_no_reason_to_leave_time_out(memory: CoherentMemory) -> None:
    """Lanes of several types of memory are parts of one request, answered at different ticks."""
    starts = [memory.space.allocate(64, memory_type=each).start for each in TYPES]
    load(memory, 0, starts[0])
    memory.push(MemoryRequest(0, LOAD, 1, np.array(starts, np.uint64), 4))
    asked = memory.now
    assert memory.run(asked + 10_000) != []
    assert asked + 10 < memory.now < asked + 1_000


def test_what_a_port_refuses_is_kept_in_order(memory: CoherentMemory) -> None:
    start = memory.space.allocate(PAGE).start
    count = 3 * 16 + 5
    for tag in range(count):
        data = np.full((1, 4), tag, np.uint8)
        memory.push(MemoryRequest(0, STORE, tag, words(start + tag % 7 * 4), 4, data))
    memory.push(MemoryRequest(0, RELEASE, count))
    answers = settle(memory)
    assert len(answers) == 2 * count + 1
    released = next(a for a in answers if a.kind is AnswerKind.SYNCHRONIZED)
    performed = [a.tick for a in answers if a.kind is AnswerKind.PERFORMED]
    assert len(performed) == count and max(performed) <= released.tick
    last = {tag % 7: tag for tag in range(count)}
    assert list(memory.read(start, 28)) == [last[i] for i in range(7) for _ in range(4)]


def test_the_host_waits_for_no_compute_unit(memory: CoherentMemory) -> None:
    start = memory.space.allocate(64).start
    store(memory, 0, start, 1)
    memory.push(MemoryRequest(0, LOAD, 1, words(start)))
    with pytest.raises(ValueError, match="when no request is under way"):
        memory.read(start, 4)


def test_a_protocol_that_never_answers_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened("GPU_VIPER")
    start = memory.space.allocate(64).start
    for buffer in memory.backend.system.buffers.values():  # type: ignore[attr-defined]
        if buffer.name == "TCP1.mandatoryQueue":
            monkeypatch.setattr(buffer.consumer, "wakeup", lambda: None)
            bit = buffer.consumer.bit
            monkeypatch.setitem(buffer.consumer.engine.wakeups, bit, lambda: None)
    memory.push(MemoryRequest(0, LOAD, 1, words(start)))
    memory.push(MemoryRequest(1, LOAD, 1, words(start)))
    with pytest.raises(MemoryStuck, match=r"does not answer 1 requests in tick \d+: nothing moves"):
        settle(memory)


class TestSystems:
    @pytest.mark.parametrize(("cus", "tccs", "sqcs"), [(1, 1, 1), (4, 4, 1), (5, 2, 2), (8, 1, 2)])
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_counts(self, protocol: str, cus: int, tccs: int, sqcs: int) -> None:
        kernel = loaded(protocol, cus, tccs).kernel
        assert (kernel.cus, kernel.sqcs) == (cus, sqcs)
        banks = kernel.description.machines["TCC"]
        assert banks.count == tccs
        (cache,) = banks.caches.values()
        assert cache.sets * cache.ways * tccs * 64 == 2 << 20
        memory = opened(protocol, cus, tccs)
        start = memory.space.allocate(64).start
        for port in memory.ports:
            assert load(memory, port.index, start) == 0

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_any_description_with_a_coalescer_will_do(self, protocol: str, tmp_path: Path) -> None:
        plain = Path("protocols", f"{protocol}.toml").resolve()
        found = load_system(protocol, cus=3, tccs=2, system=plain)
        assert (found.kernel.cus, found.kernel.sqcs) == (3, 1)
        memory = python_memory(found)
        start = memory.space.allocate(64).start
        for port in memory.ports:
            assert load(memory, port.index, start) == 0
        store(memory, 0, start, 3)
        assert load(memory, 2, start) in (0, 3)
        assert memory.read(start, 4) == b"\3\0\0\0"

    def test_a_protocol_without_a_coalescer(self) -> None:
        with pytest.raises(DescriptionError, match="MI has no coalescer"):
            load_system("MI")

    @pytest.mark.parametrize(
        ("setting", "value", "words"),
        [
            ("gpu.ports.vector", "nothing", "a port is a group of requesters"),
            ("gpu.ports.banks", "nothing", "no machine of this description"),
            ("gpu.ports.other", "gpu", "no such field"),
            ("gpu.ports.control", "scalars", "control port is no coalescer"),
            ("gpu.ports.scalar", "front", "scalar port is no sequencer"),
            ("machine.Scalar.count", 2, "2 scalar caches"),
            ("machine.Front.count", 2, "one control port"),
            ("machine.Vector.count", 0, "0 compute units"),
        ],
    )
    def test_what_is_no_system_for_kernels(self, setting: str, value: Any, words: str) -> None:
        with pytest.raises(DescriptionError, match=words):
            load_system("GPU_VIPER", settings={setting: value})

    @pytest.mark.parametrize(
        ("ports", "words"),
        [
            (["cpu", "nothing"], r"gpu.ports.cpu\[1\].*a port is a group of requesters"),
            (["cpu", "cpu"], "cpu is several ports"),
            (["front"], "front, a CPU port, is no sequencer"),
            (["scalars"], "scalars is several ports"),
            ("cpu", "a list"),
        ],
    )
    def test_what_is_no_port_of_a_processor(self, ports: Any, words: str) -> None:
        with pytest.raises(DescriptionError, match=words):
            load_system("GPU_VIPER_APU", settings={"gpu.ports.cpu": ports})

    def test_cores_are_numbered_pair_by_pair_and_engines_follow(self) -> None:
        settings = {"machine.CorePair.count": 2, "machine.DMA.count": 3}
        memory = python_memory(load_system("GPU_VIPER_APU", cus=1, settings=settings))
        assert isinstance(memory.backend, PythonBackend)
        ports = memory.ports
        assert [ports[ports.cpu(core)].number for core in range(4)] == [0, 1, 2, 3]
        clients = memory.backend._clients[ports.cpu(0) :]
        names = [client.requester.name for client in clients]
        assert names == ["cpu0", "second0", "cpu1", "second1", "dma0", "dma1", "dma2"]
        assert [ports[ports.dma(engine)].number for engine in range(3)] == [0, 1, 2]

    def test_what_is_no_port_of_an_engine(self) -> None:
        for name, why in (("no", "a port is a group of"), ("gpu", "dma port is no DMA engine")):
            with pytest.raises(DescriptionError, match=why):
                load_system("GPU_VIPER_APU", settings={"gpu.ports.dma": name})
        memory = opened("GPU_VIPER_APU")
        port = memory.ports.dma(0)
        with pytest.raises(ValueError, match="a DMA engine only loads and stores"):
            memory.push(MemoryRequest(port, ATOMIC, 1, words(64)))
        for single in (memory.ports.cpu(1), port):
            with pytest.raises(ValueError, match=r"2 lanes at a (cpu|dma) port, which takes one"):
                memory.push(MemoryRequest(single, LOAD, 1, words(64, 2)))

    def test_the_rest_of_the_table_is_left_to_the_compute_units(self) -> None:
        found = load_system("GPU_VIPER", settings={"gpu.vector_cycles": 8})
        assert found.kernel.timing == {"vector_cycles": 8}

    def test_the_table_is_copied_with_the_description(self) -> None:
        found = load_system("GPU_VIPER", settings={"gpu.vector_cycles": 8}).kernel.description
        again = SystemDescription.from_toml(found.to_toml())
        assert again == found
        assert again.gpu == {"vector_cycles": 8, "ports": dict(found.gpu["ports"])}  # type: ignore[call-overload]
        with pytest.raises(DescriptionError, match="gpu = 3: expected a table"):
            SystemDescription.from_toml("gpu = 3")
