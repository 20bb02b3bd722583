"""Structures in memory, from byte strings written by hand from the documents' tables."""

from __future__ import annotations

import struct

import pytest

from gpu.errors import HostError
from gpu.hsa.aql import AgentDispatch, Barrier, Header, KernelDispatch, PacketType
from gpu.hsa.draft_packets import DraftHeader
from gpu.hsa.queue import object_bytes
from gpu.hsa.queue_layout import AMD_QUEUE, HSA_QUEUE
from gpu.hsa.signal import SIGNAL
from tests.gpu.packet_processor.harness import Bench


def test_a_signal_is_64_bytes() -> None:
    data = struct.pack("<qqQIIQQQQ", 1, -5, 0x1000, 7, 0, 11, 22, 0x2000, 0)
    fields = SIGNAL.unpack(data)
    assert fields == {
        "kind": 1,
        "value": -5,
        "event_mailbox_ptr": 0x1000,
        "event_id": 7,
        "start_ts": 11,
        "end_ts": 22,
        "queue_ptr": 0x2000,
    }
    assert SIGNAL.pack(fields) == data


def test_a_queue_object_by_offset() -> None:
    """D0's offsets; from 128 on the public runtime's."""
    offsets = {
        "type": 0,
        "features": 4,
        "base_address": 8,
        "doorbell_signal": 16,
        "size": 24,
        "id": 32,
        "write_dispatch_id": 56,
        "group_segment_aperture_base_hi": 64,
        "private_segment_aperture_base_hi": 68,
        "max_cu_id": 72,
        "max_wave_id": 76,
        "max_legacy_doorbell_dispatch_id_plus_1": 80,
        "legacy_doorbell_lock": 88,
        "read_dispatch_id": 128,
        "read_dispatch_id_field_base_byte_offset": 136,
        "compute_tmpring_size": 140,
        "scratch_resource_descriptor_0": 144,
        "scratch_backing_memory_location": 160,
        "scratch_backing_memory_byte_size": 168,
        "scratch_workitem_byte_size": 176,
        "queue_properties": 180,
        "queue_inactive_signal": 192,
    }
    assert (HSA_QUEUE.size, AMD_QUEUE.size) == (40, 256)
    for name, offset in offsets.items():
        packed = AMD_QUEUE.pack({name: 0x41})
        assert packed.index(0x41) == offset, name


def test_a_made_queue_has_every_field() -> None:
    bench = Bench(cus=3)
    queue = bench.device.create_queue(16, producers="one", doorbell="legacy")
    data = bench.memory.read(queue.address, 256)
    fields = AMD_QUEUE.unpack(data)
    assert not AMD_QUEUE.reserved(data)
    assert fields["type"] == 1 and fields["size"] == 16 and fields["features"] == 3
    assert fields["base_address"] % 64 == 0
    assert (fields["max_cu_id"], fields["max_wave_id"]) == (2, 39)
    assert fields["read_dispatch_id_field_base_byte_offset"] == 128
    doorbell = SIGNAL.unpack(bench.memory.read(fields["doorbell_signal"], 64))
    assert (doorbell["kind"], doorbell["queue_ptr"]) == (-2, queue.address)
    ring = bench.memory.read(fields["base_address"], 16 * 64)
    assert {ring[slot] for slot in range(0, len(ring), 64)} == {PacketType.INVALID}


@pytest.mark.parametrize(
    ("address", "why"), [(0x1020, "64-byte aligned"), ((1 << 32) - 64, "4 GiB")]
)
def test_where_no_queue_object_can_lie(address: int, why: str) -> None:
    with pytest.raises(HostError, match=why):
        object_bytes({}, address)


def test_a_kernel_dispatch_packet() -> None:
    header = 2 | 1 << 8 | 2 << 9 | 1 << 11
    data = struct.pack(
        "<HHHHHHIIIIIQQQQ", header, 3, 8, 4, 2, 0, 100, 50, 3, 16, 512, 0x1040, 0x2010, 0, 0x3000
    )
    packet = KernelDispatch.unpack(data)
    assert packet.header == Header(PacketType.KERNEL_DISPATCH, True, 2, 1)
    assert (packet.dimensions, packet.group, packet.grid) == (3, (8, 4, 2), (100, 50, 3))
    assert (packet.private_bytes, packet.group_bytes) == (16, 512)
    assert (packet.kernel_object, packet.kernarg) == (0x1040, 0x2010)
    assert packet.completion == 0x3000
    assert packet.pack() == data


def test_an_agent_dispatch_packet() -> None:
    data = struct.pack("<HHIQ4QQQ", 4 | 1 << 11, 0x8001, 0, 0x40, 1, 2, 3, 4, 0, 0x80)
    packet = AgentDispatch.unpack(data)
    assert (packet.type, packet.return_address) == (0x8001, 0x40)
    assert (packet.arguments, packet.completion) == ((1, 2, 3, 4), 0x80)
    assert packet.header == Header(PacketType.AGENT_DISPATCH, release=1)
    assert packet.pack() == data


@pytest.mark.parametrize("kind", [PacketType.BARRIER_AND, PacketType.BARRIER_OR])
def test_a_barrier_packet(kind: PacketType) -> None:
    data = struct.pack("<HHI5QQQ", kind, 0, 0, 64, 128, 0, 256, 320, 0, 640)
    packet = Barrier.unpack(data)
    assert packet.header == Header(kind)
    assert packet.dependencies == (64, 128, 0, 256, 320)
    assert packet.completion == 640
    assert packet.pack() == data


def test_the_draft_header() -> None:
    bits = 1 | 1 << 8 | 3 << 9 | 2 << 11 | 1 << 13 | 2 << 15
    draft = DraftHeader.unpack(bits)
    assert draft == DraftHeader(1, True, 3, 2, True, False, 2)
    assert draft.pack() == bits
    assert draft.modern() == (Header(PacketType.KERNEL_DISPATCH, True, 2, 2), 2)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"kernel dispatch packet.group_x has 2 bytes; 65536"):
        KernelDispatch(setup=1, group=(65536, 1, 1), grid=(1, 1, 1), kernel_object=0).pack()
    with pytest.raises(ValueError, match="up to 5 signals, not 6"):
        Barrier(dependencies=(64,) * 6).pack()
    with pytest.raises(ValueError, match="64 bytes, not 63"):
        SIGNAL.unpack(bytes(63))
