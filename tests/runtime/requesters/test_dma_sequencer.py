"""The DMA engine behind a hand-written controller: cuts at lines, one line at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.port import Access, AccessKind
from runtime.sim.engine import Engine
from runtime.types.messages import SequencerMsg, SequencerRequestType
from runtime.types.values import DataBlock
from tests.runtime.requesters.requester_kit import LINE, Mini, Recorder, mask_bytes

LOAD, STORE = AccessKind.LOAD, AccessKind.STORE


class Bench:
    """One DMA engine, its controller and a client."""

    def __init__(self, **options: Any) -> None:
        self.engine = Engine()
        self.mini = Mini(self.engine)
        self.dma = DMASequencer("dma", 0, 4, LINE, **options)
        self.mini.serve(self.dma)
        self.client = Recorder(self.engine)
        self.memory: dict[int, DataBlock] = {}

    def issue(self, kind: int, addresses: list[int], size: int, **fields: Any) -> bool:
        fields.setdefault("tag", 0)
        access = Access(kind, self.client, addresses=addresses, size=size, **fields)
        return self.client.issue(self.dma, access)

    def run(self) -> list[tuple[Any, ...]]:
        self.engine.run()
        return self.client.answers

    def perform(self, message: SequencerMsg) -> None:
        """A memory that answers at once."""
        block = self.memory.setdefault(message.LineAddress, DataBlock())
        if message.Type == SequencerRequestType.LD:
            self.dma.dataCallback(block, message.LineAddress)
        else:
            offset = message.PhysicalAddress - message.LineAddress
            block.copyPartial_range(None, message.DataBlk, offset, message.Len)
            self.dma.ackCallback(message.LineAddress)


def test_a_transfer_is_cut_at_lines_and_sends_one_at_a_time() -> None:
    bench = Bench()
    value = int.from_bytes(bytes(range(1, 101)), "little")
    bench.issue(STORE, [0x70], 100, values=[value])
    bench.run()
    (message,) = bench.mini.received
    assert (message.LineAddress, message.PhysicalAddress, message.Len) == (0x40, 0x70, 16)
    assert mask_bytes(message.writeMask) == list(range(48, 64))
    bench.dma.ackCallback(0x40)
    bench.run()
    bench.dma.ackCallback(0x80)
    assert bench.client.answers == []
    bench.run()
    bench.dma.ackCallback(0xC0)
    pieces = [(m.LineAddress, m.PhysicalAddress, m.Len) for m in bench.mini.received]
    assert pieces == [(0x40, 0x70, 16), (0x80, 0x80, 64), (0xC0, 0xC0, 20)]
    data = b"".join(
        m.DataBlk.data.to_bytes(LINE, "little")[m.PhysicalAddress % LINE :][: m.Len]
        for m in bench.mini.received
    )
    assert data == bytes(range(1, 101))
    assert [a[:4] for a in bench.client.answers] == [
        ("stored", 0, [0], 0x40),
        ("completed", 0, [0], 0x40),
    ]
    assert bench.dma.leaks() == []


def test_a_load_reports_the_whole_transfer_once() -> None:
    bench = Bench()
    bench.mini.on_message = bench.perform
    value = int.from_bytes(bytes(range(200)), "little")
    bench.issue(STORE, [0x3F], 200, values=[value])
    bench.run()
    bench.issue(LOAD, [0x3F], 200, tag=1)
    answer = bench.run()[-1]
    assert answer[:4] == ("loaded", 1, [0], 0)
    assert answer[4] == [value]


def test_transfers_on_one_line_queue_and_others_overlap() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], 4, values=[1], tag=1)
    bench.issue(LOAD, [0x44], 4, tag=2)
    bench.issue(LOAD, [0x80], 1, tag=3)
    bench.run()
    assert bench.mini.lines() == [0x40, 0x80]
    assert bench.dma.outstanding()[1].where.startswith("behind <STORE")
    bench.dma.ackCallback(0x40)
    bench.run()
    assert bench.mini.lines() == [0x40, 0x80, 0x40]
    bench.dma.dataCallback(DataBlock(5 << 32), 0x40)
    bench.dma.dataCallback(DataBlock(7), 0x80)
    assert [(a[0], a[1]) for a in bench.client.answers] == [
        ("stored", 1),
        ("completed", 1),
        ("loaded", 2),
        ("loaded", 3),
    ]


def test_two_transfers_in_opposite_reach_do_not_block_each_other() -> None:
    bench = Bench()
    bench.issue(STORE, [0x60], 64, values=[1], tag=1)  # lines 0x40, 0x80
    bench.issue(STORE, [0x80], 64, values=[2], tag=2)  # line 0x80
    bench.issue(STORE, [0x40], 128, values=[3], tag=3)  # lines 0x40, 0x80
    bench.run()
    bench.mini.on_message = bench.perform
    for message in list(bench.mini.received):
        bench.perform(message)
    bench.run()
    assert sorted(a[1] for a in bench.client.answers if a[0] == "completed") == [1, 2, 3]
    assert bench.dma.leaks() == []


def test_too_many_transfers_are_refused_until_one_ends() -> None:
    bench = Bench(outstanding=1)
    bench.issue(LOAD, [0], 4, tag=1)
    assert not bench.issue(LOAD, [0x40], 4, tag=2)
    bench.run()
    bench.dma.dataCallback(DataBlock(), 0)
    bench.run()
    assert bench.mini.lines() == [0, 0x40]
    assert len(bench.client.retries) == 1


def test_synchronisation_and_misuse() -> None:
    bench = Bench()
    bench.issue(AccessKind.ACQUIRE, [], 4, tag=1)
    bench.issue(STORE, [0], 4, values=[1], tag=2)
    bench.issue(AccessKind.RELEASE, [], 4, tag=3)
    bench.run()
    bench.dma.ackCallback(0)
    assert [a[1] for a in bench.client.answers] == [1, 2, 2, 3]
    for kind, addresses, size, words in (
        (AccessKind.ATOMIC, [0], 4, "only loads"),
        (AccessKind.FLUSH, [0], 4, "only loads"),
        (LOAD, [0], 0, "size 0"),
        (LOAD, [0], 1 << 21, "size"),
        (LOAD, [-1], 1, "negative"),
        (LOAD, [], 1, "no lane"),
        (LOAD, [0] * 5, 1, "more than 4 lanes"),
        (STORE, [0], 1, "0 values for 1 lanes"),
    ):
        with pytest.raises(ValueError, match=words):
            bench.issue(kind, addresses, size)
    assert bench.dma.leaks() == []


def test_wrong_callbacks_are_verdicts() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x40], 4)
    bench.run()
    calls: tuple[Callable[[], object], ...] = (
        lambda: bench.dma.ackCallback(0x40),
        lambda: bench.dma.dataCallback(DataBlock(), 0x80),
        lambda: bench.dma.atomicCallback(DataBlock(), 0x40),
    )
    for wrong in calls:
        with pytest.raises(ProtocolError) as caught:
            wrong()
        assert caught.value.kind is ErrorKind.BAD_CALLBACK


@pytest.mark.parametrize("seed", range(6))
def test_random_transfers_agree_with_bytes(seed: int) -> None:
    random_ = random.Random(seed)
    bench = Bench(outstanding=random_.choice([1, 3, 64]))
    bench.mini.on_message = bench.perform
    reference = bytearray(1024)
    for tag in range(40):
        size = random_.randint(1, 200)
        address = random_.randrange(1024 - size)
        if random_.random() < 0.5:
            data = random_.randbytes(size)
            reference[address : address + size] = data
            bench.issue(STORE, [address], size, values=[int.from_bytes(data, "little")], tag=tag)
            bench.run()
        else:
            bench.issue(LOAD, [address], size, tag=tag)
            answer = bench.run()[-1]
            expected = bytes(reference[address : address + size])
            assert answer[1] == tag
            assert answer[4][0].to_bytes(size, "little") == expected
    assert bench.dma.leaks() == []
