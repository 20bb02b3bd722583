"""The sequencer behind a hand-written controller: lists of a line, data through the block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.port import Access, AccessKind
from runtime.requesters.sequencer import HTMSequencer, Sequencer
from runtime.sim.engine import Engine
from runtime.types.atomic_op import AtomicKind
from runtime.types.messages import RubyRequestType
from runtime.types.values import DataBlock
from tests.runtime.requesters.requester_kit import LINE, FakeCache, Mini, Recorder, mask_bytes

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC
FLUSH = AccessKind.FLUSH


class Bench:
    """One sequencer, its controller and a client."""

    def __init__(self, cache: FakeCache | None = None, **options: Any) -> None:
        self.engine = Engine()
        self.mini = Mini(self.engine, latency=3)
        caches: Any = (cache,) if cache is not None else ()
        self.sequencer = Sequencer("cpu", 0, 4, LINE, caches=caches, **options)
        self.mini.serve(self.sequencer)
        self.client = Recorder(self.engine)

    def issue(self, kind: int, addresses: list[int] = [], **fields: Any) -> bool:  # noqa: B006
        fields.setdefault("tag", 0)
        access = Access(kind, self.client, addresses=addresses, **fields)
        return self.client.issue(self.sequencer, access)

    def run(self) -> list[tuple[Any, ...]]:
        self.engine.run()
        return self.client.answers


def test_a_request_arrives_after_the_controllers_latency() -> None:
    bench = Bench(context=1)
    bench.issue(STORE, [0x47], size=1, values=[0xAB])
    bench.run()
    (message,) = bench.mini.received
    assert bench.mini.arrivals == [3]
    assert (message.LineAddress, message.PhysicalAddress, message.Size) == (0x40, 0x47, 1)
    assert message.Type == RubyRequestType.ST
    assert message.contextId == 1
    assert mask_bytes(message.writeMask) == [7]
    assert message.WTData.data == 0xAB << 56


def test_loads_read_and_stores_write_the_block_they_are_given() -> None:
    bench = Bench()
    bench.issue(STORE, [0x44], values=[0x1234_5678])
    bench.run()
    block = DataBlock(0xFF)
    bench.sequencer.writeCallback(0x40, block, True, 1, 2, 3, 4)
    assert block.data == 0xFF | 0x1234_5678 << 32
    assert bench.client.names() == ["stored", "completed"]
    bench.issue(LOAD, [0x42], size=8)
    bench.run()
    bench.sequencer.readCallback(0x40, block, False)
    assert bench.client.answers[-1][4] == [0x1234_5678_0000]


@pytest.mark.parametrize("size", [3, 7, 12, 16, 63, 64])
def test_accesses_have_any_size_anywhere_in_a_line(size: int) -> None:
    bench = Bench()
    address = 0x80 - size
    value = int.from_bytes(bytes(range(1, size + 1)), "little")
    bench.issue(STORE, [address], size=size, values=[value | 1 << 8 * size])
    bench.run()
    (message,) = bench.mini.received
    assert (message.PhysicalAddress, message.Size) == (address, size)
    assert mask_bytes(message.writeMask) == list(range(64 - size, 64))
    assert message.WTData.data == value << 8 * (64 - size)
    block = DataBlock((1 << 512) - 1)
    bench.sequencer.writeCallback(0x40, block)
    ones = (1 << 8 * (64 - size)) - 1
    assert block.data == value << 8 * (64 - size) | ones
    before = max(address - 1, 0x40)
    bench.issue(LOAD, [before], size=size)
    bench.run()
    bench.sequencer.readCallback(0x40, block)
    loaded = block.data >> 8 * (before - 0x40) & (1 << 8 * size) - 1
    assert bench.client.answers[-1][4] == [loaded]


@pytest.mark.parametrize(("address", "size"), [(0x40, 0), (0x40, 65), (0x71, 16), (0x7E, 3)])
def test_longer_accesses_and_accesses_of_two_lines_are_misuse(address: int, size: int) -> None:
    with pytest.raises(ValueError, match=r"size|next line"):
        Bench().issue(LOAD, [address], size=size)


def test_an_instruction_fetch_reads_like_a_load_and_with_loads() -> None:
    bench = Bench()
    fetch = Access(LOAD, bench.client, addresses=[0x40], size=4)
    fetch.instruction = True
    bench.client.issue(bench.sequencer, fetch)
    bench.issue(LOAD, [0x44])
    bench.run()
    assert bench.mini.types() == ["IFETCH"]
    bench.sequencer.readCallback(0x40, DataBlock(0x0000_0002_0000_0001))
    assert [answer[4] for answer in bench.client.answers] == [[1], [2]]


@pytest.mark.parametrize(
    ("op", "operand", "new"),
    [
        (AtomicKind.ADD, 1, 0),
        (AtomicKind.EXCHANGE, 7, 7),
        (AtomicKind.UMIN, 3, 3),
        (AtomicKind.MAX, 3, 3),
    ],
)
def test_atomics_are_stores_with_an_operation(op: int, operand: int, new: int) -> None:
    bench = Bench()
    bench.issue(ATOMIC, [0x48], values=[operand], op=op)
    bench.run()
    assert bench.mini.types() == ["ST"]
    block = DataBlock(0xFFFF_FFFF << 64)
    bench.sequencer.writeCallback(0x40, block)
    assert bench.client.answers == [("atomic", 0, [0], [0xFFFF_FFFF], bench.engine.now)]
    assert block.read(8, 4) == new


def test_reads_that_follow_a_read_complete_with_it_and_a_write_is_sent_anew() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x40], tag=1)
    bench.issue(LOAD, [0x44], tag=2)
    bench.issue(STORE, [0x40], values=[9], tag=3)
    bench.issue(LOAD, [0x40], tag=4)
    bench.run()
    assert bench.mini.types() == ["LD"]
    bench.sequencer.readCallback(0x40, DataBlock(1 | 2 << 32))
    assert [(a[1], a[4]) for a in bench.client.answers] == [(1, [1]), (2, [2])]
    bench.run()
    assert bench.mini.types() == ["LD", "ST"]
    bench.sequencer.writeCallback(0x40, DataBlock(1))
    assert [a[:2] for a in bench.client.answers[2:]] == [
        ("stored", 3),
        ("completed", 3),
        ("loaded", 4),
    ]
    assert bench.client.answers[-1][4] == [9]
    assert bench.sequencer.leaks() == []


def test_a_write_completes_the_whole_list_in_order() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], values=[1], tag=1)
    bench.issue(LOAD, [0x40], tag=2)
    bench.issue(ATOMIC, [0x40], values=[10], tag=3)
    bench.issue(STORE, [0x40], size=1, values=[0xFF], tag=4)
    bench.issue(LOAD, [0x40], tag=5)
    bench.run()
    block = DataBlock()
    bench.sequencer.writeCallback(0x40, block)
    loads = [a for a in bench.client.answers if a[0] in ("loaded", "atomic")]
    assert [a[1] for a in loads] == [2, 3, 5]
    assert [loads[0][4], loads[1][3], loads[2][4]] == [[1], [1], [0xFF]]
    assert bench.mini.types() == ["ST"]


def test_a_unique_write_completes_the_head_only() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], values=[1], tag=1)
    bench.issue(STORE, [0x44], values=[2], tag=2)
    bench.run()
    bench.sequencer.writeUniqueCallback(0x40, DataBlock())
    bench.run()
    assert [a[1] for a in bench.client.answers] == [1, 1]
    assert bench.mini.types() == ["ST", "ST"]


def test_a_flush_is_neither_served_by_a_store_nor_serves_what_follows() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], values=[1], tag=1)
    bench.issue(FLUSH, [0x44, 0x40], tag=2)
    bench.issue(STORE, [0x48], values=[2], tag=3)
    bench.run()
    bench.sequencer.writeCallback(0x40, DataBlock())
    bench.run()
    assert bench.mini.types() == ["ST", "FLUSH"]
    block = DataBlock()
    bench.sequencer.writeCallback(0x40, block)
    bench.run()
    assert block.data == 0
    assert bench.client.names() == ["stored", "completed", "synchronized"]
    assert bench.mini.types() == ["ST", "FLUSH", "ST"]


def test_too_much_outstanding_is_refused_until_there_is_room() -> None:
    bench = Bench(outstanding=4)
    bench.issue(LOAD, [0, 0x40, 0x80], tag=1)
    assert not bench.issue(LOAD, [0xC0, 0x100], tag=2)
    bench.run()
    bench.sequencer.readCallback(0, DataBlock())
    assert bench.client.retries == [bench.engine.now]
    bench.run()
    assert bench.mini.lines() == [0, 0x40, 0x80, 0xC0, 0x100]
    for line in (0x40, 0x80, 0xC0, 0x100):
        bench.sequencer.readCallback(line, DataBlock())
    assert bench.sequencer.leaks() == []
    assert len(bench.client.answers) == 5


def test_a_flush_of_many_lines_is_one_instruction() -> None:
    bench = Bench(outstanding=4)
    bench.issue(FLUSH, [64 * i for i in range(6)], tag=1)
    assert not bench.issue(LOAD, [0x1000], tag=2)
    bench.run()
    for line in range(0, 384, 64):
        assert bench.client.answers == []
        bench.sequencer.writeCallback(line, DataBlock())
    bench.run()
    assert bench.client.names() == ["synchronized"]
    assert bench.mini.types() == ["FLUSH"] * 6 + ["LD"]


def test_misuse_is_refused_loudly() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="0x3e: 4 bytes reach"):
        bench.issue(LOAD, [0, 0x3E])
    with pytest.raises(ValueError, match="no such access"):
        bench.issue(AccessKind.INVALIDATE_L2, [0])
    assert bench.sequencer.leaks() == []


def test_wrong_callbacks_are_verdicts() -> None:
    bench = Bench()
    sequencer = bench.sequencer
    bench.issue(LOAD, [0x40])
    bench.issue(STORE, [0x80], values=[0])
    bench.run()
    block = DataBlock()
    htm = HTMSequencer("htm", 1, 1, LINE)
    calls: tuple[Callable[[], object], ...] = (
        lambda: sequencer.readCallback(0, block),
        lambda: sequencer.readCallback(0x80, block),
        lambda: sequencer.writeCallback(0x40, block),
        lambda: sequencer.writeUniqueCallback(0x40, block),
        lambda: sequencer.atomicCallback(0x80, block),
        lambda: sequencer.writeCallbackScFail(0x80, block),
        lambda: sequencer.unaddressedCallback(1, RubyRequestType.TLBI),
        lambda: sequencer.invL1Callback(),
        lambda: htm.htmCallback(0, 0, 0),
    )
    for wrong in calls:
        with pytest.raises(ProtocolError) as caught:
            wrong()
        assert caught.value.kind is ErrorKind.BAD_CALLBACK
    assert not sequencer.llscCheckMonitor(0x40)


def test_acquire_of_a_coherent_cache_has_nothing_to_do() -> None:
    bench = Bench(FakeCache(0x40))
    bench.issue(AccessKind.ACQUIRE, tag=1)
    bench.issue(AccessKind.RELEASE, tag=2)
    assert bench.run() == [("synchronized", 1, 1), ("synchronized", 2, 1)]
    assert bench.mini.received == []


def test_acquire_of_an_instruction_cache_walks_it_once_at_a_time() -> None:
    bench = Bench(FakeCache(0x80, 0x40), walk=True, fetch=True)
    bench.issue(LOAD, [0x100], tag=9)
    bench.issue(AccessKind.ACQUIRE, tag=1)
    assert not bench.issue(AccessKind.ACQUIRE, tag=2)
    bench.run()
    assert bench.mini.types() == ["IFETCH", "REPLACEMENT", "REPLACEMENT"]
    assert bench.mini.lines() == [0x100, 0x40, 0x80]
    bench.sequencer.invL1Callback()
    assert bench.client.answers == []
    assert "1 lines left" in bench.sequencer.outstanding()[1].where
    bench.sequencer.invL1Callback()
    assert bench.client.answers == [("synchronized", 1, bench.engine.now)]
    bench.run()
    assert bench.mini.types()[3:] == ["REPLACEMENT", "REPLACEMENT"]


def test_release_waits_for_earlier_stores_and_atomics() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], values=[1])
    bench.issue(ATOMIC, [0x80], values=[1])
    bench.issue(AccessKind.RELEASE, tag=7)
    bench.run()
    assert bench.sequencer.outstanding()[-1].where == "waits for 2 stores"
    bench.sequencer.writeCallback(0x80, DataBlock())
    bench.sequencer.writeCallback(0x40, DataBlock())
    assert bench.client.answers[-1] == ("synchronized", 7, bench.engine.now)
