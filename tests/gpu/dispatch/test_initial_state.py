"""Registers at the start of a wave, field by field from descriptor and packet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu.code_object.kernel_descriptor import USER_SGPRS, KernelDescriptor
from gpu.dispatch.kernel_run import KernelRun, Surroundings
from gpu.generation import Generation
from gpu.hsa.aql import KernelDispatch
from gpu.hsa.scratch import ScratchPool, queue_fields
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.harness import Bench

POOL = 0x1_2345_0000
HIDDEN = 0x1_0000_0000
AROUND = Surroundings(
    queue=0xA_0000_0040,
    packet_id=0x5_0000_0007,
    dispatch_pointer=0xB_0000_0080,
    resource=(0x11, 0x22, 0x33, 0x44),
    hidden_base=HIDDEN,
)
EXPECTED = {
    "private_segment_buffer": [0x11, 0x22, 0x33, 0x44],
    "dispatch_ptr": [0x80, 0xB],
    "queue_ptr": [0x40, 0xA],
    "kernarg_segment_ptr": [0xC0, 0xC],
    "dispatch_id": [7, 5],
    "flat_scratch_init": [POOL - HIDDEN, 260],
    "private_segment_size": [260],
}


def descriptor(
    properties: int, rsrc2: int = 0, rsrc1: int = 0, user: int | None = None
) -> KernelDescriptor:
    if user is None:
        user = sum(each.size for bit, each in enumerate(USER_SGPRS) if properties >> bit & 1)
    return KernelDescriptor(0, 0, 0, 0x100, rsrc1, rsrc2 | user << 1, 0, properties, 0)


def start(described: KernelDescriptor, group: int = 160) -> KernelRun:
    packet = KernelDispatch(
        setup=3,
        group=(group, 1, 1),
        grid=(group * 4, 5, 6),
        private_bytes=257,
        kernel_object=0x10000,
        kernarg=0xC_0000_00C0,
    )
    fields = queue_fields(POOL, HIDDEN, 260, 8)
    pool = ScratchPool.read(fields, HIDDEN)
    nothing = lambda *_: None  # noqa: E731
    return KernelRun("k", packet, described, AROUND, pool, (0,), nothing, nothing, nothing)


def test_user_sgprs_are_dense_and_in_order() -> None:
    for properties in range(128):
        names = [each.name for bit, each in enumerate(USER_SGPRS) if properties >> bit & 1]
        expected = [word for name in names for word in EXPECTED[name]]
        group = start(descriptor(properties)).start_next()
        assert group.waves[0].sgprs == expected, names


def test_on_gfx9_flat_scratch_begins_with_the_address_of_the_pool() -> None:
    run = start(descriptor(1 << 5))
    later = replace(run, generation=Generation.GFX9)
    assert run.start_next().waves[0].sgprs[:2] == EXPECTED["flat_scratch_init"]
    group = later.start_next()
    assert group.waves[0].sgprs[:2] == [POOL & 0xFFFF_FFFF, POOL >> 32]
    assert group.generation is Generation.GFX9


@pytest.mark.parametrize("enables", range(32))
def test_system_sgprs(enables: int) -> None:
    """Work-group ids, work-group info, scratch wave offset, each only if enabled."""
    rsrc2 = (enables & 0xF) << 7 | enables >> 4
    run = start(descriptor(8, rsrc2, user=4))
    for _ in range(4 * 5 + 4 + 2):  # to group (2, 1, 1)
        run.start_next()
        run.pool.give_back(run._slots.popitem()[1])
    group = run.start_next()
    assert group.id == (2, 1, 1)
    bases = [wave.private_base for wave in group.waves]
    assert len(set(bases)) == 3 and min(bases) >= POOL
    for number, wave in enumerate(group.waves):
        expected = [0xC0, 0xC, 0, 0]
        expected += [value for bit, value in enumerate((2, 1, 1)) if enables >> bit & 1]
        if enables & 8:
            expected.append(3 | (1 << 31 if number == 0 else 0))
        if enables & 16:
            expected.append(wave.private_base - POOL)
        assert wave.sgprs == expected
        assert wave.number == number


@pytest.mark.parametrize("count", [1, 2, 3])
def test_vgprs_exec_entry_and_mode(count: int) -> None:
    run = start(descriptor(0, rsrc2=(count - 1) << 11, rsrc1=0xC3 << 12 | 1 << 21 | 1 << 23))
    group = run.start_next()
    assert [wave.vgprs.shape for wave in group.waves] == [(count, 64)] * 3
    assert [wave.exec for wave in group.waves] == [(1 << 64) - 1] * 2 + [(1 << 32) - 1]
    ids = np.concatenate([wave.vgprs[0] for wave in group.waves])[:160]
    assert ids.tolist() == list(range(160))
    assert {wave.entry for wave in group.waves} == {0x10100}
    assert {wave.mode for wave in group.waves} == {0xC3 | 3 << 8}
    assert (group.private_bytes, group.hidden_private_base) == (260, HIDDEN)


def test_scratch_fields_of_the_queue() -> None:
    """The words of the buffer descriptor, bit by bit (GCN3 ISA, "Buffer Resource Descriptor")."""
    fields = queue_fields(POOL, HIDDEN, 260, 8)
    per_wave = 17 * 1024  # 260 * 64 = 16,640, in units of 1024
    words = [fields[f"scratch_resource_descriptor_{word}"] for word in range(4)]
    assert words[0] | (words[1] & 0xFFFF) << 32 == POOL
    assert words[1] >> 16 == 0x8000, "no stride, swizzled"
    assert words[2] == per_wave * 8
    assert (words[3] >> 19 & 3, words[3] >> 21 & 3, words[3] >> 23 & 1) == (1, 3, 1)
    assert fields["compute_tmpring_size"] == 8 | 17 << 12
    assert fields["scratch_backing_memory_location"] == POOL - HIDDEN
    assert fields["scratch_workitem_byte_size"] == 272


def test_the_dispatch_pointer_stays_readable() -> None:
    """Its slot is used again while the kernel runs; the copy is what was written."""
    bench = Bench(ticks={0: 50_000})
    queue = bench.device.create_queue(2)
    queue.dispatch(bench.kernel(), 77, 64, [0, 0, 0, 64], barrier=True)
    queue.ring()
    written = bench.memory.read(queue.field("base_address"), 64)
    queue.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64])
    queue.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64])
    queue.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64])
    queue.ring()
    bench.device.run(limit=2000)
    first = next(group for _, _, group in bench.log)
    place = stored("vadd")["vadd"].descriptor.user_sgprs
    at = sum(each.size for each in place[: [each.name for each in place].index("dispatch_ptr")])
    low, high = first.waves[0].sgprs[at : at + 2]
    assert queue.read_index == 4
    assert bench.memory.read(low | high << 32, 64) == written
