"""Values, hashes, delays and atomic operations of the native core are those of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from runtime.native.system import zeroed_block
from runtime.network.network import Topology
from runtime.prng import Prng, hash64, hash_name, initial_word
from runtime.sim.delay_policy import DRAWN_POLICIES, POLICY_NAMES, DelayPolicy
from runtime.types import integers
from runtime.types.atomic_op import AtomicKind, AtomicOp
from runtime.types.messages import MachineType
from runtime.types.values import DataBlock, MachineID, NetDest, Set, WriteMask
from tests.runtime.native.core_twin import MASK64, call, library, result_of

TOPOLOGY = Topology({MachineType.TCP: 5, MachineType.TCC: 3})


class Bench:
    """The values of ``core_values.cpp``, of which an operation may be a mistake."""

    def __init__(self, line_bits: int = 6) -> None:
        self.lib = library("core_values.cpp", f"-DLINE_BYTES={1 << line_bits}")
        self.memory = zeroed_block(call(self.lib, "v_size"))
        call(self.lib, "v_start", self.memory)
        size = 1 << line_bits
        self.controller: Any = SimpleNamespace(
            topology=TOPOLOGY, full_mask=(1 << 8 * size) - 1, line_size=size
        )

    def __call__(self, name: str, *arguments: object) -> int:
        return call(self.lib, name, self.memory, *arguments)

    def agree(self, python: Callable[[], Any], name: str, *arguments: object) -> None:
        """Both give the same result, or the same verdict."""
        wanted, verdict = result_of(python)
        found = self(name, *arguments)
        assert self("v_error") == verdict, (name, arguments)
        if wanted is not None and not verdict:
            assert found == int(wanted) & MASK64, (name, arguments)


def _mask_operations(
    c: Any, m: WriteMask, o: WriteMask, offset: int, length: int
) -> list[Callable[[], Any]]:
    place = max(offset, 0)
    return [
        lambda: m.assign(o),
        lambda: m.clear(),
        lambda: m.test(place),
        lambda: m.setMask(c, offset, length),
        lambda: m.setMask(c, offset, length, False),
        lambda: m.getMask(c, offset, length),
        lambda: m.fillMask(c),
        lambda: m.isFull(c),
        lambda: m.setInvertedMask(c, o),
        lambda: m.isEmpty(),
        lambda: m.isOverlap(o),
        lambda: m.containsMask(o),
        lambda: m.orMask(o),
        lambda: m.andMask(o),
        lambda: m.count(place),
        lambda: m.firstBitSet(c, bool(length & 1), place),
        lambda: m == o,
    ]


def _block_operations(
    c: Any, blocks: list[DataBlock], i: int, j: int, mask: WriteMask, one: int, two: int
) -> list[Callable[[], Any]]:
    b, other = blocks[i], blocks[j]
    return [
        lambda: blocks.__setitem__(i, other.copy()),
        lambda: b.assign(other),
        lambda: b.clear(),
        lambda: b.copyPartial(other, mask),
        lambda: b.copyPartial_range(c, other, one, two),
        lambda: b.atomicPartial(other, mask),
        lambda: b.atomicPartial(other, mask, False),
        lambda: b.numAtomicLogEntries(),
        lambda: b.popAtomicLogEntryFront() and None,
        lambda: b.clearAtomicLogEntries(),
        lambda: b.read(one, two),
        lambda: b.write(one, 8, two),
        lambda: b == other,
    ]


def _number(words: np.ndarray) -> int:
    return int.from_bytes(words.tobytes(), "little")


@pytest.mark.parametrize("line_bits", [5, 6])
@pytest.mark.parametrize("seed", range(8))
def test_masks_and_blocks(line_bits: int, seed: int) -> None:
    size = 1 << line_bits
    prng = Prng(seed).fork("blocks")
    bench = Bench(line_bits)
    masks = [WriteMask() for _ in range(4)]
    blocks = [DataBlock() for _ in range(4)]
    out = np.zeros(8, np.uint64)
    for step in range(400):
        i, j, k = prng.below(4), prng.below(4), prng.below(4)
        offset = prng.below(size + 1) - (prng.below(20) == 0)
        length = prng.below(size - max(offset, 0) + 1) + (prng.below(20) == 0)
        operations = _mask_operations(bench.controller, masks[i], masks[j], offset, length)
        op = prng.below(len(operations))
        place = max(offset, 0) if op in (2, 14, 15) else offset
        bench.agree(operations[op], "v_mask", op, i, j, place, length)
        if step % 10 == 0:
            _set_atomics(prng, size, bench, masks, i)
        op = prng.below(13)
        if op in (1, 6) and sum(len(block.log or ()) for block in blocks) > 40:
            op = 9
        one, two = (offset, length) if op == 4 else (8 * prng.below(size // 8), 8)
        if op == 11:
            two = prng.bits64()
        log = blocks[i].log
        oldest = log[0] if op == 8 and log else None
        operations = _block_operations(bench.controller, blocks, i, j, masks[k], one, two)
        bench.agree(operations[op], "v_block", op, i, j, k, one, two, out)
        assert oldest is None or _number(out) == oldest
        for n, block in enumerate(blocks):
            bench("v_block", 13, n, 0, 0, 0, 0, out)
            assert _number(out) == block.data, (step, op)


def _set_atomics(prng: Prng, size: int, bench: Bench, masks: list[WriteMask], i: int) -> None:
    operations = _operations(prng, size)
    masks[i].atomics = tuple(operations)
    words = [
        word for at, op in operations for word in (at, op.kind, op.size, op.operand, op.compare)
    ]
    bench("v_operations", i, np.array(words, np.uint64), len(operations))


def _operations(prng: Prng, size: int) -> list[tuple[int, AtomicOp]]:
    found = []
    for _ in range(prng.below(4)):
        width = 4 * (1 + prng.below(2))
        at = prng.below(size // width) * width
        limit = (1 << 8 * width) - 1
        op = AtomicOp(
            prng.below(AtomicKind.NUM), prng.bits64() & limit, width, prng.bits64() & limit
        )
        found.append((at, op))
    return found


def test_sets() -> None:
    for seed in range(10):
        prng = Prng(seed).fork("sets")
        bench = Bench()
        c = bench.controller
        dests, sets = [NetDest() for _ in range(4)], [Set() for _ in range(4)]
        for _ in range(500):
            i, j = prng.below(4), prng.below(4)
            d, o, s, t = dests[i], dests[j], sets[i], sets[j]
            kind = (MachineType.TCP, MachineType.TCC, MachineType.DMA)[prng.below(3)]
            machine = TOPOLOGY.machine_id(kind, prng.below(7))
            number = prng.below(70) - 2
            for which, operations in (
                ("v_dest", _dest_operations(c, d, o, t, machine, kind)),
                ("v_set", _set_operations(s, t, number)),
            ):
                op = prng.below(len(operations))
                rest = (kind, machine.num) if which == "v_dest" else (number,)
                bench.agree(operations[op], which, op, i, j, *rest)
            if d.bits:
                assert bench("v_dest", 14, i, 0, 0, 0) == d.smallestElement(c).node
            assert bench("v_dest", 17, i, 0, 0, 0) == d.bits
            assert bench("v_set", 14, i, 0, 0) == s.bits & MASK64


def _dest_operations(
    c: Any, d: NetDest, o: NetDest, members: Set, machine: MachineID, kind: int
) -> list[Callable[[], Any]]:
    return [
        lambda: d.add(machine),
        lambda: d.remove(machine),
        lambda: d.clear(),
        lambda: d.count(),
        lambda: d.isElement(machine),
        lambda: d.isEmpty(),
        lambda: d.isSuperset(o),
        lambda: d.intersectionIsEmpty(o),
        lambda: d.addNetDest(o),
        lambda: d.removeNetDest(o),
        lambda: d.assign(d.OR(o)),
        lambda: d.assign(d.AND(o)),
        lambda: d.broadcast(c, kind),
        lambda: d.broadcast_all(c),
        lambda: d.smallestElement(c).node,
        lambda: d.smallestElement_of(c, kind).node,
        lambda: d.setNetDest(c, kind, members) if members.bits < 8 else d.clear(),
    ][: 17 if members.bits < 8 else 16]


def _set_operations(s: Set, t: Set, number: int) -> list[Callable[[], Any]]:
    return [
        lambda: s.setSize(number),
        lambda: s.add(number),
        lambda: s.remove(number),
        lambda: s.addSet(t),
        lambda: s.removeSet(t),
        lambda: s.broadcast() if s.size >= 0 else None,
        lambda: s.clear(),
        lambda: s.count(),
        lambda: s.isElement(number),
        lambda: s.isEmpty(),
        lambda: s.isEqual(t),
        lambda: s.isSuperset(t),
        lambda: s.intersectionIsEmpty(t),
        lambda: s.smallestElement(),
    ]


def test_integers() -> None:
    bench = Bench()
    small = [0, 1, -1, 2, 7, -7, 31, 32, 63, 64]
    interesting = [*small, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63)]
    for one in interesting:
        for two in interesting:
            for op, operation in enumerate(_integer_operations(one, two)):
                bench.agree(operation, "v_integer", op, one, two)


def _integer_operations(one: int, two: int) -> list[Callable[[], int]]:
    a, b = integers.int32(one), integers.int32(two)
    u, v = one & MASK64, two & MASK64
    return [
        lambda: integers.divide(one, two),
        lambda: integers.remainder(one, two),
        lambda: integers.int32(integers.divide(a, b)),
        lambda: integers.remainder(a, b),
        lambda: integers.divide(u, v),
        lambda: integers.remainder(u, v),
        lambda: integers.int32(integers.shift_left(a, two, 32)),
        lambda: integers.shift_right(a, two, 32),
        lambda: integers.shift_left(u, two, 64),
        lambda: integers.shift_right(u, two, 64),
    ]


def test_atomic_operations() -> None:
    lib = library("core_values.cpp")
    prng = Prng(11)
    for kind in range(AtomicKind.NUM):
        for size in (4, 8):
            limit = (1 << 8 * size) - 1
            for _ in range(200):
                values = [
                    (prng.bits64() if prng.below(2) else prng.below(4) - 2) & limit
                    for _ in range(3)
                ]
                operand, compare, old = values
                wanted = AtomicOp(kind, operand, size, compare).apply(old)
                assert call(lib, "v_atomic", kind, size, operand, compare, old) == wanted


def test_hashes() -> None:
    lib = library("core_values.cpp")
    prng = Prng(5)
    for _ in range(100):
        one, two, three = prng.bits64(), prng.bits64(), prng.bits64()
        assert call(lib, "v_hash", one, 0, 0, 1) == hash64(one)
        assert call(lib, "v_hash", one, two, 0, 2) == hash64(one, two)
        assert call(lib, "v_hash", one, two, three, 3) == hash64(one, two, three)
        assert call(lib, "v_initial_word", one, two) == initial_word(one, two)
    lib.v_hash_name.restype = ctypes.c_uint64
    for name in ("", "delays", "L1Cache0.requestFromCache->Directory0.requestToDir"):
        assert lib.v_hash_name(name.encode()) == hash_name(name)


@pytest.mark.parametrize("policy", [name for name in DRAWN_POLICIES if name != "nominal"])
def test_delays_are_drawn_as_tabulated(policy: str) -> None:
    lib = library("core_values.cpp")
    for run_key in range(3):
        channel = DelayPolicy(policy, run_key).channel("here->there")
        assert channel is not None
        number = POLICY_NAMES.index(policy)
        name = hash_name("here->there")
        found = [call(lib, "v_delay", number, run_key, name, i) for i in range(len(channel.table))]
        assert found == channel.table
