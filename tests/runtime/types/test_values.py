"""Value classes against byte arrays, sets and Python integers of fixed width."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import ErrorKind, ProtocolError
from runtime.types import functional_packet as functional
from runtime.types.atomic_op import AtomicKind, AtomicOp
from runtime.types.messages import MachineType, bitSelect, log2, maskLowOrderBits
from runtime.types.values import (
    BoolVec,
    DataBlock,
    MachineID,
    NetDest,
    Set,
    WriteMask,
    divide,
    int32,
    int64,
    remainder,
    shift_left,
    shift_right,
    uint32,
    uint64,
)
from tests.runtime.pingpong import World

LINE = 64
blocks = st.binary(min_size=LINE, max_size=LINE)
masks = st.sets(st.integers(0, LINE - 1))
integers = st.integers(-(2**70), 2**70)


def block_of(data: bytes) -> DataBlock:
    return DataBlock(int.from_bytes(data, "little"))


def bytes_of(block: DataBlock) -> bytes:
    return block.data.to_bytes(LINE, "little")


def mask_of(members: set[int]) -> WriteMask:
    mask = WriteMask()
    for member in members:
        mask.setMask(None, member, 1)
    return mask


@given(blocks, blocks, masks)
def test_masked_copy(target: bytes, source: bytes, members: set[int]) -> None:
    block = block_of(target)
    block.copyPartial(block_of(source), mask_of(members))
    expected = bytes(source[i] if i in members else target[i] for i in range(LINE))
    assert bytes_of(block) == expected


@given(blocks, blocks, st.integers(0, LINE), st.integers(0, LINE))
def test_range_copy_and_words(target: bytes, source: bytes, first: int, end: int) -> None:
    first, end = min(first, end), max(first, end)
    block = block_of(target)
    block.copyPartial_range(None, block_of(source), first, end - first)
    assert bytes_of(block) == target[:first] + source[first:end] + target[end:]
    assert block.read(first, end - first) == int.from_bytes(source[first:end], "little")
    written = block_of(target)
    written.write(first, end - first, int.from_bytes(source[first:end], "little"))
    assert written == block
    if first < LINE:
        block.setByte(first, 0x1A5)
        assert block.getByte(first) == 0xA5


@given(masks, masks, st.integers(0, LINE - 1), st.integers(0, LINE - 1))
def test_masks_are_sets_of_bytes(left: set[int], right: set[int], first: int, last: int) -> None:
    controller = World().players[0]
    universe = set(range(LINE))
    a, b = mask_of(left), mask_of(right)
    first, last = min(first, last), max(first, last)
    assert a.count() == len(left)
    assert a.count(first) == len([i for i in left if i >= first])
    assert a.isEmpty() == (not left)
    assert a.isFull(controller) == (left == universe)
    assert a.isOverlap(b) == bool(left & right)
    assert a.containsMask(b) == (right <= left)
    assert a.test(first) == (first in left)
    assert a.getMask(controller, first, last - first + 1) == (set(range(first, last + 1)) <= left)
    chosen = [i for i in range(first, LINE) if i in left]
    assert a.firstBitSet(controller, True, first) == (chosen[0] if chosen else LINE)
    others = [i for i in range(LINE) if i not in left]
    assert a.firstBitSet(controller, False) == (others[0] if others else LINE)
    for operation, expected in (("orMask", left | right), ("andMask", left & right)):
        c = a.copy()
        getattr(c, operation)(b)
        assert c == mask_of(expected)
    inverted = WriteMask()
    inverted.setInvertedMask(controller, a)
    assert inverted == mask_of(universe - left)
    a.setMask(controller, first, last - first + 1, False)
    assert a == mask_of(left - set(range(first, last + 1)))
    assert sorted(i for lo, hi in b.ranges() for i in range(lo, hi)) == sorted(right)


def test_masks_take_over_atomic_operations() -> None:
    operations = ((4, AtomicOp(AtomicKind.ADD, 1)),)
    mask = WriteMask(0xFF)
    mask.orMask(WriteMask(0, operations))
    assert mask.atomics == operations
    mask.andMask(WriteMask(0))
    assert (mask.bits, mask.atomics) == (0, operations)
    mask.clear()
    assert mask.atomics == operations


@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_destinations_are_sets_of_controllers(left: set[int], right: set[int]) -> None:
    world = World(6)
    controller = world.players[0]
    nodes = world.topology.nodes
    a, b = NetDest(), NetDest()
    for member in left:
        a.add(nodes[member])
    for member in right:
        b.add(nodes[member])
    assert a.count() == len(left)
    assert a.nodes() == sorted(left)
    assert a.isSuperset(b) == (right <= left)
    assert a.intersectionIsEmpty(b) == (not left & right)
    assert a.OR(b).nodes() == sorted(left | right)
    assert a.AND(b).nodes() == sorted(left & right)
    assert [a.isElement(node) for node in nodes] == [n in left for n in range(6)]
    if left:
        assert a.smallestElement(controller) is nodes[min(left)]
        assert a.smallestElement_of(controller, MachineType.Cache) is nodes[min(left)]
    else:
        with pytest.raises(ProtocolError):
            a.smallestElement(controller)
    c = a.copy()
    c.addNetDest(b)
    assert c.nodes() == sorted(left | right)
    c.removeNetDest(a)
    assert c.nodes() == sorted(right - left)
    a.setNetDest(controller, MachineType.Cache, Set(6, b.bits))
    assert a == b
    a.broadcast(controller, MachineType.Cache)
    assert a.count() == 6


def test_a_destination_must_exist() -> None:
    topology = World(2).topology
    with pytest.raises(ProtocolError, match="Cache-2 is not part of the system") as caught:
        NetDest().add(topology.machine_id(MachineType.Cache, 2))
    assert caught.value.kind is ErrorKind.INDEX_RANGE
    assert topology.machine_id(MachineType.Cache, 2) is topology.machine_id(MachineType.Cache, 2)


def test_a_machine_that_nothing_has_set_is_called_so() -> None:
    """It was "<no value>-0": the owner field of an entry that an unblock forgot to record."""
    words = "a machine that nothing has set is not part of the system"
    with pytest.raises(ProtocolError, match=words):
        NetDest().add(MachineID(MachineType.NUM, 0))


def test_sets_know_their_universe() -> None:
    numbers = Set()
    numbers.setSize(4)
    numbers.add(3)
    numbers.add(1)
    assert (numbers.count(), numbers.smallestElement(), numbers.isElement(3)) == (2, 1, True)
    with pytest.raises(ProtocolError):
        numbers.add(4)
    numbers.broadcast()
    assert numbers.count() == 4


def test_bool_vectors_grow_with_false() -> None:
    vector = BoolVec()
    vector.resize(3)
    vector.set_at(1, True)
    vector.resize(5)
    assert [vector.at(i) for i in range(vector.size())] == [False, True, False, False, False]
    with pytest.raises(ProtocolError) as caught:
        vector.at(5)
    assert caught.value.kind is ErrorKind.INDEX_RANGE


def _reference(kind: int, old: int, operand: int, compare: int, bits: int) -> int:
    """Straight from the definition, with machine integers."""
    signed = ctypes.c_int32 if bits == 32 else ctypes.c_int64
    unsigned = ctypes.c_uint32 if bits == 32 else ctypes.c_uint64
    name = AtomicKind.name_of(kind)
    result = {
        "ADD": lambda: old + operand,
        "SUB": lambda: old - operand,
        "MIN": lambda: min(signed(old).value, signed(operand).value),
        "MAX": lambda: max(signed(old).value, signed(operand).value),
        "UMIN": lambda: min(old, operand),
        "UMAX": lambda: max(old, operand),
        "AND": lambda: old & operand,
        "OR": lambda: old | operand,
        "XOR": lambda: old ^ operand,
        "EXCHANGE": lambda: operand,
        "CAS": lambda: operand if old == compare else old,
        "INC": lambda: 0 if old >= operand else old + 1,
        "DEC": lambda: operand if old == 0 or old > operand else old - 1,
    }[name]()
    return int(unsigned(result).value)


@settings(max_examples=100)
@given(
    st.integers(0, AtomicKind.NUM - 1),
    st.sampled_from([4, 8]),
    st.integers(0, 2**64 - 1),
    st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**32 - 1, 2**63])),
)
def test_atomic_operations(kind: int, size: int, old: int, operand: int) -> None:
    limit = (1 << 8 * size) - 1
    old, operand = old & limit, operand & limit
    compare = old if operand & 1 else operand
    operation = AtomicOp(kind, operand, size, compare)
    assert operation.apply(old) == _reference(kind, old, operand, compare, 8 * size)


@given(blocks, st.lists(st.tuples(st.integers(0, 7), st.integers(0, 2**32 - 1)), max_size=6))
def test_atomics_on_a_block_run_in_order_and_log_what_was_before(
    data: bytes, additions: list[tuple[int, int]]
) -> None:
    operations = tuple((8 * word, AtomicOp(AtomicKind.ADD, value)) for word, value in additions)
    image = bytearray(data)
    log = []
    for offset, operation in operations:
        log.append(bytes(image))
        old = int.from_bytes(image[offset : offset + 4], "little")
        image[offset : offset + 4] = ((old + operation.operand) % 2**32).to_bytes(4, "little")
    block = DataBlock(123)
    block.atomicPartial(block_of(data), WriteMask(0, operations), False)
    assert bytes_of(block) == bytes(image)
    assert block.numAtomicLogEntries() == len(log)
    silent = DataBlock()
    silent.atomicPartial(block_of(data), WriteMask(0, operations))
    assert (silent.data, silent.log) == (block.data, None)
    for entry in log:
        assert block.popAtomicLogEntryFront().to_bytes(LINE, "little") == entry
    assert block == silent


def test_assigning_a_block_appends_its_log_and_copying_copies_it() -> None:
    source = DataBlock(5, [1, 2])
    target = DataBlock(7, [9])
    target.assign(source)
    assert (target.data, target.log) == (5, [9, 1, 2])
    copy = target.copy()
    copy.clearAtomicLogEntries()
    assert target.log == [9, 1, 2]
    assert copy != target
    assert source.log == [1, 2]


@given(integers)
def test_widths(value: int) -> None:
    assert int32(value) == ctypes.c_int32(value & 0xFFFFFFFF).value
    assert int64(value) == ctypes.c_int64(value & (2**64 - 1)).value
    assert uint32(value) == value % 2**32
    assert uint64(value) == value % 2**64


@given(integers, integers.filter(bool))
def test_division_truncates(dividend: int, divisor: int) -> None:
    quotient, rest = divide(dividend, divisor), remainder(dividend, divisor)
    assert quotient * divisor + rest == dividend
    assert abs(rest) < abs(divisor)
    assert rest == 0 or (rest < 0) == (dividend < 0)


def test_impossible_arithmetic_is_a_verdict() -> None:
    for function in (divide, remainder):
        with pytest.raises(ProtocolError) as caught:
            function(1, 0)
        assert caught.value.kind is ErrorKind.DIVISION_BY_ZERO
    for shift in (shift_left, shift_right):
        for amount in (-1, 32):
            with pytest.raises(ProtocolError) as caught:
                shift(1, amount, 32)
            assert caught.value.kind is ErrorKind.BAD_SHIFT
    assert (shift_left(3, 4, 32), shift_right(-8, 1, 32)) == (48, -4)


def test_functional_accesses_meet_blocks() -> None:
    block = block_of(bytes(range(LINE)))
    packet = functional.Packet(0x1008, 4)
    assert functional.testAndRead(0x1000, block, packet)
    assert packet.data == int.from_bytes(bytes([8, 9, 10, 11]), "little")
    assert not functional.testAndRead(0x2000, block, packet)
    assert functional.testAndWrite(0x1000, block, functional.Packet(0x1001, 2, 0xBEEF))
    assert block.read(1, 2) == 0xBEEF
    assert block.read(0, 1) == 0
    partial = functional.Packet(0x1008, 4, 0xFFFFFFFF)
    assert functional.testAndReadMask(0x1000, block, mask_of({9}), partial)
    assert (partial.data, partial.done) == (0xFFFF09FF, 0xFF00)


def test_address_helpers() -> None:
    assert bitSelect(0xABCD, 4, 11) == 0xBC
    assert maskLowOrderBits(0xABCD, 8) == 0xAB00
    assert log2(4096) == 12
