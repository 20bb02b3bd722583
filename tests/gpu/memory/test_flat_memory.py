"""Flat memory against a dictionary of bytes that is filled lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.memory.address_space import PAGE, AddressSpace, MemoryType, Misaligned, Unmapped
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import Answer, MemoryRequest
from runtime.requesters.port import AccessKind, AnswerKind
from runtime.types.atomic_op import AtomicKind, AtomicOp

Numbers = np.random.Generator


def _word(address: int, count: int = 1, step: int = 4) -> Any:
    return np.uint64(address) + np.arange(count, dtype=np.uint64) * np.uint64(step)


def _data(numbers: Numbers, lanes: int, size: int) -> Any:
    return numbers.integers(0, 256, (lanes, size), dtype=np.uint8)


class Slow:
    """The reference: one byte at a time, one lane after the other."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}

    def get(self, address: int, size: int) -> int:
        return sum(self.bytes.get(address + i, 0) << 8 * i for i in range(size))

    def put(self, address: int, value: int, size: int) -> None:
        for i in range(size):
            self.bytes[address + i] = value >> 8 * i & 0xFF


SIZES = (1, 2, 4, 8, 12, 16)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_random_requests_equal_the_slow_reference(seed: int, direct: bool) -> None:
    """Through `push` and `run`, or directly; crowded, so that lanes meet and cross lines."""
    numbers = np.random.default_rng(seed)
    memory = FlatMemory()
    starts = [memory.space.allocate(PAGE).start for _ in range(2)]
    slow = Slow()
    for _ in range(12):
        lanes = int(numbers.integers(1, 65))
        atomic = bool(numbers.integers(0, 2))
        size = int(numbers.choice((4, 8) if atomic else SIZES))
        align = size if atomic else int(numbers.choice([1, min(size, 4)]))
        area = int(numbers.choice([64, 1024]))
        first = numbers.choice(starts, lanes) if numbers.integers(0, 2) else starts[0]
        offsets = numbers.integers(0, area // align, lanes) * align
        addresses = (first + offsets).astype(np.uint64)
        data = _data(numbers, lanes, size)
        if atomic:
            kind = int(numbers.integers(0, AtomicKind.NUM))
            compares = np.where(numbers.integers(0, 2, (lanes, 1)) > 0, data, 0).astype(np.uint8)
            expected = []
            for lane, address in enumerate(addresses.tolist()):
                operand = int.from_bytes(data[lane].tobytes(), "little")
                compare = int.from_bytes(compares[lane].tobytes(), "little")
                old = slow.get(address, size)
                expected.append(old)
                operation = AtomicOp(kind, operand, size, compare if kind == AtomicKind.CAS else 0)
                slow.put(address, operation.apply(old), size)
            got = _atomic(memory, direct, kind, addresses, data, compares)
            assert [int.from_bytes(row.tobytes(), "little") for row in got] == expected
        elif numbers.integers(0, 2):
            for lane, address in enumerate(addresses.tolist()):
                slow.put(address, int.from_bytes(data[lane].tobytes(), "little"), size)
            _store(memory, direct, addresses, data)
        else:
            found = _load(memory, direct, addresses, size)
            for lane, address in enumerate(addresses.tolist()):
                assert int.from_bytes(found[lane].tobytes(), "little") == slow.get(address, size)
    for start in starts:
        assert int.from_bytes(memory.read(start, PAGE), "little") == slow.get(start, PAGE)


def _values(data: Any) -> Any:
    size = data.shape[1]
    dtype = {1: np.uint8, 2: np.uint16}.get(size, np.uint32)
    words = np.ascontiguousarray(data).view(dtype)
    return words[:, 0] if size <= 4 else words


def _run(memory: FlatMemory, request: MemoryRequest) -> list[Answer]:
    memory.push(request)
    return memory.run(None)


def _load(memory: FlatMemory, direct: bool, addresses: Any, size: int) -> Any:
    if direct:
        values = memory.load(addresses, size)
        return np.ascontiguousarray(values).view(np.uint8).reshape(len(addresses), size)
    (answer,) = _run(memory, MemoryRequest(0, AccessKind.LOAD, 1, addresses, size))
    assert answer.kind is AnswerKind.LOADED
    return answer.data


def _store(memory: FlatMemory, direct: bool, addresses: Any, data: Any) -> None:
    if direct:
        memory.store(addresses, _values(data))
        return
    request = MemoryRequest(0, AccessKind.STORE, 1, addresses, data.shape[1], data)
    assert [a.kind for a in _run(memory, request)] == [AnswerKind.ACCEPTED, AnswerKind.PERFORMED]


def _atomic(
    memory: FlatMemory, direct: bool, op: int, addresses: Any, data: Any, compares: Any
) -> Any:
    size = data.shape[1]
    if not direct:
        request = MemoryRequest(
            0, AccessKind.ATOMIC, 1, addresses, size, data, compares, op, returns=True
        )
        (answer,) = _run(memory, request)
        return answer.data
    dtype = np.uint32 if size == 4 else np.uint64
    old = memory.atomic(op, addresses, data.view(dtype)[:, 0], compares.view(dtype)[:, 0])
    return old.view(np.uint8).reshape(-1, size)


def test_the_clock() -> None:
    memory = FlatMemory()
    start = memory.space.allocate(64).start
    assert memory.run(40) == [] and memory.now == 40 and not memory.busy
    memory.push(MemoryRequest(0, AccessKind.LOAD, 7, _word(start)))
    assert memory.busy
    (answer,) = memory.run(100)
    assert (answer.tick, memory.now, answer.request.tag) == (40, 41, 7)
    assert memory.run(None) == [] and memory.now == 41


def test_an_atomic_without_result_is_performed() -> None:
    memory = FlatMemory()
    start = memory.space.allocate(64).start
    data = np.full((3, 4), 1, np.uint8)
    (answer,) = _run(memory, MemoryRequest(0, AccessKind.ATOMIC, 1, _word(start, 3, 0), 4, data))
    assert answer.kind is AnswerKind.PERFORMED and answer.data is None
    assert memory.read(start, 4) == b"\3\3\3\3"


@pytest.mark.parametrize("kind", [AccessKind.ACQUIRE, AccessKind.RELEASE, AccessKind.FLUSH])
def test_synchronisation_is_answered(kind: int) -> None:
    memory = FlatMemory()
    port = memory.ports.control if kind == AccessKind.FLUSH else 0
    (answer,) = _run(memory, MemoryRequest(port, kind, 1))
    assert answer.kind is AnswerKind.SYNCHRONIZED


@pytest.mark.parametrize("size", SIZES)
def test_lanes_past_an_end_are_named_and_nothing_is_stored(size: int) -> None:
    memory = FlatMemory()
    start = memory.space.allocate(PAGE).start
    addresses = _word(start, 3, 16)
    addresses[2] = start + PAGE - size + 1
    with pytest.raises(Unmapped, match=r"(past|behind) the end of memory") as caught:
        memory.load(addresses, size)
    assert caught.value.lane == 2
    with pytest.raises(Unmapped, match=r"(past|behind) the end"):
        memory.store(addresses, _values(np.full((3, size), 1, np.uint8)))
    with pytest.raises(Unmapped, match=r"(past|behind) the end"):
        memory.push(
            MemoryRequest(0, AccessKind.STORE, 1, addresses, size, np.full((3, size), 1, np.uint8))
        )
    assert not any(memory.read(start, PAGE))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("below", [1, 2, 4, 16])
def test_lanes_below_a_start_do_not_wrap_around(size: int, below: int) -> None:
    memory = FlatMemory()
    start = memory.space.allocate(PAGE).start
    addresses = np.array([start, start - below], np.uint64)
    with pytest.raises(Unmapped, match="nothing is mapped") as caught:
        memory.load(addresses, size)
    assert caught.value.lane == 1


def test_what_may_not_be_written() -> None:
    memory = FlatMemory()
    start = memory.space.allocate(64, writable=False, name="code").start
    memory.write(start, b"code")
    assert memory.load(_word(start), 4)[0] == int.from_bytes(b"code", "little")
    for refused in (
        lambda: memory.store(_word(start), np.zeros(1, np.uint32)),
        lambda: memory.atomic(AtomicKind.ADD, _word(start), np.zeros(1, np.uint32)),
        lambda: memory.store_dwords(start, [1]),
    ):
        with pytest.raises(Unmapped, match=r"code at 0x.* may not be written"):
            refused()
    assert memory.read(start, 4) == b"code"


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_misaligned_atomics_are_refused(dtype: Any) -> None:
    memory = FlatMemory()
    start = memory.space.allocate(64).start
    with pytest.raises(Misaligned, match="must be aligned") as caught:
        memory.atomic(AtomicKind.ADD, np.array([start, start + 2], np.uint64), np.ones(2, dtype))
    assert caught.value.lane == 1
    assert not any(memory.read(start, 64))


def test_doorbells_hear_of_stores_and_nothing_is_kept() -> None:
    heard: list[tuple[int, bytes]] = []
    memory = FlatMemory()
    start = memory.space.map_doorbells(PAGE, lambda address, data: heard.append((address, data)))
    first = start.start
    memory.store(_word(first, 2, 8), np.array([1, 2], np.uint32))
    assert heard == [(first, b"\1\0\0\0"), (first + 8, b"\2\0\0\0")]
    data = np.full((1, 8), 3, np.uint8)
    memory.push(MemoryRequest(0, AccessKind.STORE, 1, _word(first), 8, data))
    assert len(heard) == 2
    assert len(memory.run(None)) == 2
    assert heard[2:] == [(first, b"\3" * 8)]
    for refused in (
        lambda: memory.load(_word(first), 4),
        lambda: memory.read(first, 4),
        lambda: memory.load_dwords(first, 1),
    ):
        with pytest.raises(Unmapped, match="doorbell"):
            refused()


def test_scalar_words() -> None:
    memory = FlatMemory()
    start = memory.space.allocate(64).start
    memory.store_dwords(start + 8, [1, 2**32 - 1])
    assert memory.load_dwords(start + 4, 4) == [0, 1, 2**32 - 1, 0]
    with pytest.raises(Unmapped, match="behind the end of memory"):
        memory.load_dwords(start + PAGE, 1)
    other = memory.space.allocate(64, name="buffer").start
    with pytest.raises(Unmapped, match=f"4 bytes before the start of buffer at {other:#x}"):
        memory.load_dwords(other - 4, 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"port": 9}, "there is no port 9"),
        ({"size": 17}, "17 bytes a lane"),
        ({"addresses": np.zeros(65, np.uint64)}, "65 lanes"),
        ({"addresses": np.zeros(1, np.int64)}, "uint64"),
        ({"kind": AccessKind.STORE}, "data of another shape"),
        ({"kind": AccessKind.ATOMIC, "size": 2, "data": np.zeros((1, 2))}, "an atomic of 2"),
        ({"kind": AccessKind.ATOMIC, "op": 13, "data": np.zeros((1, 4))}, "has number 13"),
        ({"kind": AccessKind.ATOMIC, "op": 10, "data": np.zeros((1, 4))}, "one comparand"),
    ],
)
def test_requests_that_could_never_be_right(change: dict[str, Any], why: str) -> None:
    fields: dict[str, Any] = {"port": 0, "kind": AccessKind.LOAD, "tag": 3}
    fields |= {"addresses": np.zeros(1, np.uint64)} | change
    with pytest.raises(ValueError, match=f"request, tag 3: .*{why}"):
        FlatMemory().push(MemoryRequest(**fields))


class TestAddressSpace:
    def test_pages_gaps_and_alignment(self) -> None:
        space = AddressSpace()
        one = space.allocate(1)
        two = space.allocate(PAGE + 1, memory_type="uc", alignment=1 << 16)
        assert one.end - one.start == PAGE and two.end - two.start == 2 * PAGE
        assert two.start % (1 << 16) == 0 and two.start >= one.end + PAGE
        assert two.memory_type is MemoryType.UC and two.memory_type.bypasses
        assert space.find(one.end - 1) is one and space.find(one.end) is None
        assert space.find(0) is None

    def test_what_is_freed_is_not_given_out_again(self) -> None:
        memory = FlatMemory()
        start = memory.space.allocate(64).start
        memory.write(start, b"old")
        memory.space.free(start)
        with pytest.raises(Unmapped):
            memory.read(start, 1)
        with pytest.raises(ValueError, match="no allocation starts"):
            memory.space.free(start)
        assert memory.space.allocate(64).start != start

    @pytest.mark.parametrize(
        ("size", "alignment"), [(0, PAGE), (-1, PAGE), (1 << 48, PAGE), (64, 3), (64, 0)]
    )
    def test_what_cannot_be_allocated(self, size: int, alignment: int) -> None:
        with pytest.raises(ValueError, match="memory: "):
            AddressSpace().allocate(size, alignment=alignment)

    def test_parts_lie_next_to_each_other(self) -> None:
        space = AddressSpace()
        code, data = space.allocate_parts([(2 * PAGE, False), (PAGE, True)], name="object")
        assert (code.writable, data.writable) == (False, True)
        assert data.start == code.end == code.start + 2 * PAGE
        assert space.at(code.end - 4, 4) is code and space.at(data.start, 4, writes=True) is data
        with pytest.raises(Unmapped, match=r"object at .* may not be written"):
            space.at(code.start, 4, writes=True)
        with pytest.raises(Unmapped, match="reach past the end"):
            space.at(code.end - 2, 4)
        assert space.find(data.end) is None
        assert space.allocate(1).start >= data.end + PAGE
        with pytest.raises(ValueError, match="object: a part of 5 bytes is not whole pages"):
            space.allocate_parts([(5, True)], name="object")
