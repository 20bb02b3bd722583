"""Acquires, releases, flushes and invalidations at a coalescer, with the caches that they walk."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import ProtocolError
from runtime.requesters.coalescer import VIPERCoalescer
from runtime.requesters.port import Access, AccessKind
from runtime.requesters.sequencer import Sequencer
from runtime.types.values import DataBlock
from tests.runtime.requesters.coalescer_harness import STORE, Bench
from tests.runtime.requesters.requester_kit import LINE, FakeCache, Mini, Recorder


def test_acquire_walks_resident_lines_only_and_once() -> None:
    bench = Bench(FakeCache(0x80, 0x40))
    bench.issue(AccessKind.ACQUIRE, tag=5)
    assert not bench.other.issue(bench.coalescer, Access(AccessKind.ACQUIRE, bench.other))
    bench.run()
    assert bench.mini.types() == ["REPLACEMENT", "REPLACEMENT"]
    assert bench.mini.lines() == [0x40, 0x80]
    assert bench.other.retries == []
    bench.coalescer.invTCPCallback(0x80)
    assert bench.client.answers == []
    with pytest.raises(ProtocolError, match="no walk"):
        bench.coalescer.invTCPCallback(0x80)
    (part,) = bench.coalescer.outstanding()
    assert part.where == "walk: 1 parts left (0x40)"
    bench.coalescer.invTCPCallback(0x40)
    assert bench.client.answers == [("synchronized", 5, bench.engine.now)]
    assert len(bench.other.retries) == 1
    bench.run()
    assert bench.mini.types() == ["REPLACEMENT"] * 4


def test_acquire_of_an_empty_cache_ends_at_the_next_tick() -> None:
    bench = Bench(FakeCache())
    bench.engine.schedule(bench.client, 7)
    bench.client.pending.append((bench.coalescer, Access(AccessKind.ACQUIRE, bench.client)))
    assert bench.run() == [("synchronized", 0, 8)]
    assert bench.mini.received == []


def linked_bench(count: int) -> tuple[Bench, list[VIPERCoalescer], Sequencer, Mini]:
    """``count`` coalescers with empty caches that share one instruction cache of two lines."""
    bench = Bench(FakeCache())
    instructions = Mini(bench.engine)
    cache: Any = FakeCache(0x1000, 0x1040)
    sequencer = Sequencer("sqc", 9, 1, LINE, caches=(cache,), fetch=True)
    instructions.serve(sequencer)
    coalescers = [VIPERCoalescer(f"gpu{i}", i, 64, LINE, linked=(sequencer,)) for i in range(count)]
    for coalescer in coalescers:
        bench.mini.serve(coalescer)
    return bench, coalescers, sequencer, instructions


def test_acquire_walks_the_linked_instruction_cache() -> None:
    bench, (coalescer,), sequencer, instructions = linked_bench(1)
    bench.client.issue(coalescer, Access(AccessKind.ACQUIRE, bench.client, 1))
    bench.run()
    assert instructions.types() == ["REPLACEMENT", "REPLACEMENT"]
    sequencer.invL1Callback()
    assert bench.client.answers == []
    sequencer.invL1Callback()
    assert bench.client.names() == ["synchronized"]
    assert coalescer.leaks() == [] and sequencer.leaks() == []


def test_a_shared_cache_serves_one_walk_at_a_time_and_wakes_the_other() -> None:
    bench, (first, second, third), sequencer, instructions = linked_bench(3)
    instructions.on_message = lambda message: sequencer.invL1Callback()
    clients = [bench.client, bench.other, Recorder(bench.engine)]
    for coalescer, client in zip((first, second, third), clients, strict=True):
        client.issue(coalescer, Access(AccessKind.ACQUIRE, client))
    assert [len(client.pending) for client in clients] == [0, 1, 1]
    bench.run()
    assert [client.names() for client in clients] == [["synchronized"]] * 3
    assert [c.leaks() for c in (first, second, third)] == [[], [], []]


def test_a_linked_walk_that_begins_meanwhile_is_waited_for() -> None:
    bench, (first, second), sequencer, _ = linked_bench(2)
    cache: Any = FakeCache(0x40)
    first._walk.caches = (cache,)
    bench.client.issue(first, Access(AccessKind.ACQUIRE, bench.client, 1))
    bench.client.issue(first, Access(AccessKind.ACQUIRE, bench.client, 2))
    bench.run()
    for _ in range(2):
        sequencer.invL1Callback()
    bench.other.issue(second, Access(AccessKind.ACQUIRE, bench.other))
    first.invTCPCallback(0x40)
    bench.run()
    assert [a[1] for a in bench.client.answers] == [1]
    assert bench.client.retries == []
    for _ in range(2):
        sequencer.invL1Callback()
    assert len(bench.client.retries) == 1
    bench.run()
    first.invTCPCallback(0x40)
    for _ in range(2):
        sequencer.invL1Callback()
    assert [a[1] for a in bench.client.answers] == [1, 2]
    assert first.leaks() == [] and second.leaks() == []


def test_release_ends_with_the_last_earlier_store_of_its_client() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40, 0x80], values=[1, 2])
    bench.other.issue(bench.coalescer, Access(STORE, bench.other, addresses=[0x400], values=[1]))
    bench.issue(AccessKind.RELEASE, tag=8)
    bench.issue(STORE, [0xC0], values=[3])
    bench.run()
    for message in bench.mini.received:
        bench.coalescer.writeCallback(message.LineAddress, 0, DataBlock())
    first, later = bench.mini.received[0].instSeqNum, bench.mini.received[-1].instSeqNum
    bench.coalescer.writeCompleteCallback(0xC0, later)
    bench.coalescer.writeCompleteCallback(0x40, first)
    assert "synchronized" not in bench.client.names()
    bench.coalescer.writeCompleteCallback(0x80, first)
    assert bench.client.answers[-1] == ("synchronized", 8, bench.engine.now)


def test_release_with_nothing_outstanding_ends_at_the_next_tick() -> None:
    bench = Bench()
    bench.issue(AccessKind.RELEASE)
    assert bench.client.answers == []
    assert bench.run() == [("synchronized", 0, 1)]


def test_flush_sends_one_request_per_line_and_takes_no_token() -> None:
    bench = Bench(tokens=1)
    bench.serve()
    bench.issue(AccessKind.FLUSH, [0x44, 0x80, 0x48], tag=3)
    assert bench.coalescer.tokens == 1
    bench.run()
    assert bench.mini.types() == ["FLUSH", "FLUSH"]
    assert bench.client.names() == ["synchronized"]
    bench.issue(AccessKind.FLUSH, [], tag=4)
    bench.run()
    assert bench.client.names() == ["synchronized", "synchronized"]


def test_invalidation_of_the_shared_cache() -> None:
    bench = Bench()
    bench.issue(AccessKind.INVALIDATE_L2, [0x40, 0x80], tag=1)
    bench.issue(AccessKind.INVALIDATE_L2, [0x80], tag=2)
    bench.run()
    assert bench.mini.types() == ["InvL2"] * 3
    bench.coalescer.invTCCCallback(0x80)
    assert [answer[:2] for answer in bench.client.answers] == [("synchronized", 2)]
    bench.coalescer.invTCCCallback(0x40)
    bench.coalescer.invTCCCallback(0x80)
    assert [answer[:2] for answer in bench.client.answers][1:] == [("synchronized", 1)]
    assert bench.coalescer.leaks() == []
