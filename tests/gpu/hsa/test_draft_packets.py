"""Queues whose packets have the header of the draft runtime (D2, section 2.6)."""

from __future__ import annotations

import struct

import pytest

from gpu.errors import HostError, QueueError
from gpu.hsa.aql import AgentDispatch, FenceScope, Header, KernelDispatch, PacketType
from gpu.hsa.draft_packets import from_draft, to_draft
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import Signal
from gpu.memory.interface import (
    MemoryRequest,
)
from runtime.requesters.port import AccessKind
from tests.gpu.packet_processor.harness import Bench

ARGS = [0, 0, 0, 64]


def test_the_same_packet_both_ways() -> None:
    header = Header(PacketType.KERNEL_DISPATCH, True, FenceScope.SYSTEM, FenceScope.AGENT)
    packet = KernelDispatch(
        header=header, setup=2, group=(8, 8, 1), grid=(9, 9, 1), kernel_object=64, completion=128
    ).pack()
    draft = to_draft(packet)
    assert struct.unpack_from("<I", draft)[0] == 1 | 1 << 8 | 2 << 9 | 1 << 11 | 2 << 15
    assert draft[4:] == packet[4:]
    assert from_draft(draft) == (packet, False)


def test_dispatches_and_barriers_run() -> None:
    bench = Bench()
    queue = bench.device.create_queue(4, packets="draft")
    first, second = Signal(1), Signal(1)
    for _ in range(6):
        queue.dispatch(bench.kernel(), (100, 2), (64, 1), ARGS)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=first)
    queue.barrier_and([first], completion=second)
    queue.ring()
    bench.device.run(until=second)
    bench.device.run()
    assert len(bench.events("end")) == 6 * 4 + 1
    ring = bench.memory.read(queue.field("base_address"), 256)
    assert {ring[slot] for slot in range(0, 256, 64)} == {0}, "free slots are of format 0"


def test_the_instruction_cache_is_invalidated_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    queue = bench.device.create_queue(packets="draft")
    ports: list[int] = []
    push = bench.memory.push

    def spy(request: MemoryRequest) -> None:
        if request.kind == AccessKind.ACQUIRE:
            ports.append(request.port)
        push(request)

    monkeypatch.setattr(bench.memory, "push", spy)
    for bits in (0, 1 << 13):
        queue.write(queue.reserve(), (2 | bits).to_bytes(4, "little") + bytes(60))
    queue.ring()
    bench.device.run()
    assert ports == [bench.memory.ports.fetch(0)]


@pytest.mark.parametrize(
    ("first", "what"), [(3, "format is 0, 1 or 2, not 3"), (1 | 1 << 17, "bits 31:17")]
)
def test_what_is_no_draft_packet(first: int, what: str) -> None:
    bench = Bench()
    queue = bench.device.create_queue(packets="draft")
    queue.write(queue.reserve(), first.to_bytes(4, "little") + bytes(60))
    queue.ring()
    with pytest.raises(QueueError, match=what):
        bench.device.run()
    assert queue.state is QueueState.INACTIVE


def test_packets_that_the_draft_does_not_have() -> None:
    queue = Bench().device.create_queue(packets="draft")
    with pytest.raises(HostError, match="takes no agent dispatch packet"):
        queue.submit(AgentDispatch(type=1))
    with pytest.raises(HostError, match="takes no barrier or packet"):
        queue.barrier_or([])
    assert queue.write_index == 0
    with pytest.raises(HostError, match=r"packets is '1\.0' or 'draft', not '2'"):
        Bench().device.create_queue(packets="2")
