"""The coalescer behind a hand-written controller: shapes of requests, order, refusal, walks."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime.atomics import AtomicKind
from runtime.coalescer import GPUCoalescer, VIPERCoalescer
from runtime.engine import Engine
from runtime.errors import ErrorKind, ProtocolError
from runtime.library_types import RubyRequestType
from runtime.requester import Access, AccessKind
from runtime.sequencer import Sequencer
from runtime.values import DataBlock
from tests.runtime.requester_kit import LINE, FakeCache, Mini, OneLevelMemory, Recorder, mask_bytes

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


class Bench:
    """One coalescer, its controller and two clients."""

    def __init__(self, cache: FakeCache | None = None, **options: Any) -> None:
        self.engine = Engine()
        self.mini = Mini(self.engine)
        caches: Any = (cache,) if cache is not None else ()
        options.setdefault("coalesces_per_cycle", 8)
        self.coalescer = VIPERCoalescer("gpu", 0, 64, LINE, caches=caches, **options)
        self.mini.serve(self.coalescer)
        self.client = Recorder(self.engine)
        self.other = Recorder(self.engine, "other")

    def issue(self, kind: int, addresses: list[int] = [], **fields: Any) -> bool:  # noqa: B006
        fields.setdefault("tag", 0)
        return self.client.issue(
            self.coalescer, Access(kind, self.client, addresses=addresses, **fields)
        )

    def run(self, until: int | None = None) -> list[tuple[Any, ...]]:
        self.engine.run(until)
        return self.client.answers

    def serve(self) -> OneLevelMemory:
        self.mini.on_message = memory = OneLevelMemory(self.coalescer)
        return memory


# ------------------------------------------------------------------ shapes


def test_lanes_of_a_line_become_one_request_with_a_byte_mask() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x1000, 0x1008, 0x2004, 0x103C], glc=True)
    bench.run()
    first, second = bench.mini.received
    assert (first.LineAddress, first.PhysicalAddress, first.Size) == (0x1000, 0x1000, 4)
    assert mask_bytes(first.writeMask) == [0, 1, 2, 3, 8, 9, 10, 11, 60, 61, 62, 63]
    assert (second.LineAddress, second.PhysicalAddress) == (0x2000, 0x2004)
    assert mask_bytes(second.writeMask) == [4, 5, 6, 7]
    assert first.Type == RubyRequestType.LD
    assert first.isGLCSet and not first.isSLCSet
    assert first.instSeqNum == second.instSeqNum

    data = DataBlock(0x1111_2222 | 0x3333_4444 << 64 | 0x5555_6666 << 480)
    bench.coalescer.readCallback(0x1000, 0, data)
    tick = bench.engine.now
    assert bench.client.answers == [
        ("loaded", 0, [0, 1, 3], 0x1000, [0x11112222, 0x33334444, 0x55556666], tick)
    ]
    assert [part.line for part in bench.coalescer.outstanding()] == [0x2000]


def test_store_carries_its_bytes_and_later_lanes_win() -> None:
    bench = Bench()
    bench.issue(STORE, [0x41, 0x40, 0x41], size=1, values=[0xAA, 0xBB, 0xCC], slc=True)
    bench.run()
    (message,) = bench.mini.received
    assert message.WTData.data == 0xCCBB
    assert mask_bytes(message.writeMask) == [0, 1]
    assert message.isSLCSet and not message.isGLCSet


def test_store_values_are_cut_to_their_size() -> None:
    bench = Bench()
    bench.issue(STORE, [0, 1], size=1, values=[0x1FF, 0x01])
    bench.run()
    assert bench.mini.received[0].WTData.data == 0x01FF


def test_all_of_a_wave_in_one_line() -> None:
    bench = Bench(tokens=1)
    addresses = [0x80 + 4 * lane for lane in range(16)]
    bench.issue(STORE, addresses, values=list(range(16)))
    bench.run()
    (message,) = bench.mini.received
    assert mask_bytes(message.writeMask) == list(range(64))
    assert message.WTData.data == sum(lane << 32 * lane for lane in range(16))


def test_one_request_per_lane_gives_each_lane_its_number_and_token() -> None:
    bench = Bench(tokens=4, one_request_per_lane=True)
    bench.issue(STORE, [0, 4, 64], values=[1, 2, 3])
    bench.run()
    assert [(m.LineAddress, m.instSeqNum) for m in bench.mini.received] == [(0, 1), (64, 3)]
    bench.coalescer.writeCallback(0, 0, DataBlock())
    bench.run()
    assert [(m.LineAddress, m.instSeqNum) for m in bench.mini.received][2:] == [(0, 2)]
    bench.coalescer.writeCompleteCallback(0, 1)
    assert [answer[:3] for answer in bench.client.answers] == [
        ("stored", 0, [0]),
        ("completed", 0, [0]),
    ]
    with pytest.raises(ValueError, match="needs 5 of 4 tokens"):
        bench.issue(LOAD, [0, 4, 8, 12, 16])


def crossing(bench: Bench, kind: int, addresses: list[int], **fields: Any) -> None:
    access = Access(kind, bench.client, addresses=addresses, **fields)
    access.crosses = True
    bench.client.issue(bench.coalescer, access)


def test_a_lane_across_two_lines_is_in_both_rows() -> None:
    bench = Bench()
    crossing(bench, STORE, [0x20, 0x3C, 0x78], size=12, values=[1, 0xCC_BBBB_AAAA_9999_8888, 2])
    crossing(bench, LOAD, [0x3C, 0x20, 0xC0], size=16)
    bench.run()
    first, second, third, *_ = bench.mini.received
    assert [m.LineAddress for m in bench.mini.received] == [0, 0x40, 0x80, 0xC0]
    assert [m.PhysicalAddress for m in (first, second, third)] == [0x20, 0x40, 0x80]
    assert mask_bytes(first.writeMask) == [*range(32, 44), *range(60, 64)]
    assert mask_bytes(second.writeMask) == [*range(8), *range(56, 64)]
    assert mask_bytes(third.writeMask) == list(range(4))
    assert first.WTData.data == 1 << 8 * 32 | 0x9999_8888 << 8 * 60
    assert second.WTData.data == 0xCC_BBBB_AAAA | 2 << 8 * 56
    for line, lanes in ((0, [0, 1]), (0x40, [1, 2]), (0x80, [2])):
        bench.coalescer.writeCallback(line, 0, DataBlock())
        assert bench.client.answers[-1][:3] == ("stored", 0, lanes)
    for line in (0x80, 0, 0x40):
        bench.coalescer.writeCompleteCallback(line, 1)
    bench.run()
    for message in bench.mini.received[3:]:
        bench.coalescer.readCallback(message.LineAddress, 0, DataBlock())
    assert [answer[2] for answer in bench.client.answers if answer[0] == "loaded"] == [
        [2],
        [0, 1],
        [0],
    ]
    assert bench.coalescer.leaks() == []


@pytest.mark.parametrize("fields", [{"kind": ATOMIC, "values": [1]}, {"kind": LOAD, "alone": True}])
def test_where_no_lane_may_cross(fields: dict[str, Any]) -> None:
    bench = Bench(one_request_per_lane=fields.pop("alone", False))
    with pytest.raises(ValueError, match="reach into the next line"):
        crossing(bench, addresses=[0x3E], **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": LOAD, "addresses": [0x40, 0x7E]}, "0x7e: 4 bytes reach into the next line"),
        ({"kind": LOAD, "addresses": [0x79], "size": 8}, "0x79: 8 bytes"),
        ({"kind": LOAD, "addresses": []}, "no lane"),
        ({"kind": LOAD, "addresses": [-4]}, "negative address -4"),
        ({"kind": LOAD, "addresses": [0], "size": 3}, "size 3"),
        ({"kind": LOAD, "addresses": [0] * 65}, "more than 64 lanes"),
        ({"kind": STORE, "addresses": [0, 4], "values": [1]}, "1 values for 2 lanes"),
        ({"kind": ATOMIC, "addresses": [0], "values": [1], "size": 2}, "atomic of 2 bytes"),
        ({"kind": ATOMIC, "addresses": [0], "values": [1], "op": 99}, "99"),
        ({"kind": ATOMIC, "addresses": [0], "values": [1], "op": AtomicKind.CAS}, "comparand"),
        ({"kind": 9}, "no such access"),
    ],
)
def test_misuse_is_refused_loudly_and_leaves_no_trace(fields: dict[str, Any], words: str) -> None:
    bench = Bench()
    with pytest.raises(ValueError, match=words):
        bench.issue(**fields)
    assert bench.coalescer.leaks() == []
    assert bench.coalescer.oldest_issue() is None


# ------------------------------------------------------------------ order within a line


def test_requests_to_a_busy_line_wait_in_order() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x40], tag=1)
    bench.issue(STORE, [0x44], values=[7], tag=2)
    bench.issue(LOAD, [0x80], tag=3)
    bench.issue(LOAD, [0x44], tag=4)
    bench.run()
    assert bench.mini.lines() == [0x40, 0x80]
    wheres = [(part.access.tag, part.where) for part in bench.coalescer.outstanding()]
    assert wheres[0] == (1, "sent")
    assert wheres[1][1].startswith("behind request #1")
    bench.coalescer.readCallback(0x40, 0, DataBlock())
    bench.run()
    assert bench.mini.types() == ["LD", "LD", "ST"]
    bench.coalescer.writeCallback(0x40, 0, DataBlock())
    bench.run()
    assert bench.mini.types() == ["LD", "LD", "ST", "LD"]


def test_a_store_is_answered_twice_in_the_tick_of_the_callback() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40, 0x80], values=[1, 2])
    bench.run()
    sequence = bench.mini.received[0].instSeqNum
    for line in (0x40, 0x80):
        bench.coalescer.writeCallback(line, 0, DataBlock())
    bench.coalescer.writeCompleteCallback(0x80, sequence)
    assert [answer[:4] for answer in bench.client.answers] == [
        ("stored", 0, [0], 0x40),
        ("stored", 0, [1], 0x80),
        ("completed", 0, [1], 0x80),
    ]
    (part,) = bench.coalescer.outstanding()
    assert (part.line, part.where) == (0x40, "accepted, not complete")
    bench.coalescer.writeCompleteCallback(0x40, sequence)
    assert bench.coalescer.outstanding() == []
    assert bench.coalescer.leaks() == []


def test_completion_before_acceptance_is_reported_after_it() -> None:
    bench = Bench()
    bench.issue(STORE, [0x40], values=[1])
    bench.run()
    bench.coalescer.writeCompleteCallback(0x40, 1)
    assert bench.client.answers == []
    bench.coalescer.writeCallback(0x40, 0, DataBlock())
    assert bench.client.names() == ["stored", "completed"]


# ------------------------------------------------------------------ atomics


def test_old_values_come_from_the_log_in_lane_order() -> None:
    bench = Bench()
    memory = bench.serve()
    memory.block(0).write(8, 4, 100)
    memory.block(64).write(0, 4, 0xFFFF_FFFF)
    bench.issue(ATOMIC, [8, 64, 8, 8], values=[1, 1, 10, 100])
    answers = bench.run()
    assert [answer[:4] for answer in answers] == [
        ("atomic", 0, [0, 2, 3], [100, 101, 111]),
        ("atomic", 0, [1], [0xFFFF_FFFF]),
    ]
    assert memory.block(0).read(8, 4) == 211
    assert memory.block(64).read(0, 4) == 0
    assert memory.block(0).log is None


def test_atomics_without_return_and_compare_and_swap() -> None:
    bench = Bench()
    memory = bench.serve()
    bench.issue(ATOMIC, [0, 0], values=[5, 6], returns=False)
    bench.run()
    bench.issue(ATOMIC, [0, 0], values=[1, 2], op=AtomicKind.CAS, compares=[11, 99], size=8, tag=1)
    answers = bench.run()
    assert answers[0][:4] == ("atomic", 0, [0, 1], [])
    assert answers[1][:4] == ("atomic", 1, [0, 1], [11, 1])
    assert memory.block(0).read(0, 8) == 1


def test_an_atomic_log_of_the_wrong_length_is_a_verdict() -> None:
    bench = Bench()
    bench.issue(ATOMIC, [0, 4], values=[1, 1])
    bench.run()
    with pytest.raises(ProtocolError, match="1 entries for 2") as caught:
        bench.coalescer.atomicCallback(0, 0, DataBlock(0, [0]))
    assert caught.value.kind is ErrorKind.BAD_CALLBACK


# ------------------------------------------------------------------ wrong callbacks


def test_callbacks_that_nobody_waits_for_are_verdicts() -> None:
    bench = Bench()
    coalescer = bench.coalescer
    bench.issue(LOAD, [0x40])
    bench.issue(STORE, [0x80], values=[0])
    bench.run()
    block = DataBlock()
    calls: tuple[Callable[[], object], ...] = (
        lambda: coalescer.readCallback(0xC0, 0, block),
        lambda: coalescer.readCallback(0x80, 0, block),
        lambda: coalescer.writeCallback(0x40, 0, block),
        lambda: coalescer.atomicCallback(0x80, 0, block),
        lambda: coalescer.writeCompleteCallback(0x80, 99),
        lambda: coalescer.writeCompleteCallback(0x40, 2),
        lambda: coalescer.invTCPCallback(0x40),
        lambda: coalescer.invTCCCallback(0x40),
    )
    for wrong in calls:
        with pytest.raises(ProtocolError) as caught:
            wrong()
        assert caught.value.kind is ErrorKind.BAD_CALLBACK
    assert bench.client.answers == []


# ------------------------------------------------------------------ tokens and retry


def test_tokens_return_when_coalesced_and_retry_comes_exactly_then() -> None:
    bench = Bench(tokens=2, coalesces_per_cycle=1)
    for tag in range(4):
        bench.issue(LOAD, [0x40 * tag], tag=tag)
    assert [access.tag for _, access in bench.client.pending] == [2, 3]
    bench.run()
    # One instruction coalesced in tick 0, one per tick after; a retry for each returned token.
    assert bench.mini.lines() == [0, 0x40, 0x80, 0xC0]
    assert bench.mini.arrivals == [1, 2, 3, 4]
    assert bench.client.retries[0] == 0
    assert bench.client.pending == []
    assert bench.coalescer.tokens == 2


def test_a_full_row_table_holds_the_token_until_a_row_is_done() -> None:
    bench = Bench(tokens=1, outstanding=2)
    bench.issue(LOAD, [0, 0x40, 0x80, 0xC0], tag=1)
    assert not bench.other.issue(bench.coalescer, Access(LOAD, bench.other, addresses=[0x400]))
    bench.run()
    assert bench.mini.lines() == [0, 0x40]
    assert bench.other.retries == []
    bench.coalescer.readCallback(0, 0, DataBlock())
    bench.run()
    assert bench.mini.lines() == [0, 0x40, 0x80]
    bench.coalescer.readCallback(0x40, 0, DataBlock())
    bench.coalescer.readCallback(0x80, 0, DataBlock())
    bench.run()
    assert bench.mini.lines() == [0, 0x40, 0x80, 0xC0, 0x400]
    assert len(bench.other.retries) == 1


def test_every_refused_client_is_called_back() -> None:
    bench = Bench(tokens=1, coalesces_per_cycle=1)
    bench.serve()
    clients = [Recorder(bench.engine, f"c{i}") for i in range(6)]
    for number, client in enumerate(clients):
        client.issue(bench.coalescer, Access(LOAD, client, addresses=[64 * number]))
    bench.run()
    assert [client.names() for client in clients] == [["loaded"]] * 6
    assert bench.coalescer.leaks() == []


def test_nobody_overtakes_a_refused_client() -> None:
    bench = Bench(tokens=2, outstanding=1)
    order: list[str] = []
    bench.mini.on_message = lambda m: order.append(hex(m.LineAddress))
    clients = [Recorder(bench.engine, f"c{i}") for i in range(5)]

    def issue(number: int, *addresses: int) -> bool:
        client = clients[number]
        access = Access(LOAD, client, addresses=list(addresses))
        return client.issue(bench.coalescer, access)

    assert issue(0, 0x000, 0x040)
    bench.run()  # one row in flight, one waits: its token is still taken
    assert issue(1, 0x100)
    assert not issue(4, 0x400)
    assert not issue(2, 0x200)
    bench.coalescer.readCallback(0, 0, DataBlock())
    bench.run()
    for line in (0x40, 0x100, 0x400, 0x200):
        bench.coalescer.readCallback(line, 0, DataBlock())
        bench.run()
    assert order == ["0x0", "0x40", "0x100", "0x400", "0x200"]
    assert [len(client.retries) for client in clients] == [0, 0, 1, 0, 1]


def test_a_large_need_is_not_starved_by_small_ones() -> None:
    bench = Bench(tokens=4, one_request_per_lane=True, coalesces_per_cycle=1)
    bench.serve()
    small = [Recorder(bench.engine) for _ in range(3)]
    big = Recorder(bench.engine)
    for round_ in range(6):
        for client in small:
            client.issue(bench.coalescer, Access(LOAD, client, round_, [64 * round_]))
        if round_ == 1:
            big.issue(bench.coalescer, Access(LOAD, big, 0, [0, 4, 8, 12]))
        bench.engine.run(until=bench.engine.now + 1)
    assert len(big.retries) == 1
    bench.run()
    assert big.names() == ["loaded"] * 4
    assert [client.names() for client in small] == [["loaded"] * 6] * 3
    assert bench.coalescer.leaks() == []


def test_what_is_offered_and_not_taken_is_offered_to_the_next() -> None:
    bench = Bench(tokens=1)
    bench.serve()
    assert bench.issue(LOAD, [0])
    fickle = Recorder(bench.engine, "fickle")
    fickle.issue(bench.coalescer, Access(LOAD, fickle, addresses=[64]))
    bench.other.issue(bench.coalescer, Access(LOAD, bench.other, addresses=[128]))
    fickle.pending.clear()
    bench.run()
    assert (len(fickle.retries), len(bench.other.retries)) == (1, 1)
    assert bench.other.names() == ["loaded"]
    assert bench.coalescer.leaks() == []


# ------------------------------------------------------------------ synchronisation


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


# ------------------------------------------------------------------ watchdog, random drive


def test_oldest_issue_is_the_oldest_unanswered_access() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x40])
    bench.run()
    bench.engine.now = 50
    bench.issue(LOAD, [0x80])
    bench.run()
    assert bench.coalescer.oldest_issue() == 0
    bench.coalescer.readCallback(0x40, 0, DataBlock())
    assert bench.coalescer.oldest_issue() == 50


@pytest.mark.parametrize("seed", range(8))
def test_random_traffic_agrees_with_a_dictionary(seed: int) -> None:
    random_ = random.Random(seed)
    bench = Bench(
        FakeCache(0x40, 0x80),
        tokens=random_.randint(1, 3),
        outstanding=random_.choice([2, 5, 100]),
        coalesces_per_cycle=random_.randint(1, 3),
    )
    bench.serve()
    reference: dict[int, int] = {}
    expected: dict[int, list[int]] = {}
    for tag in range(60):
        size = random_.choice([1, 2, 4, 8])
        lanes = random_.randint(1, 20)
        addresses = [random_.randrange(512 // size) * size for _ in range(lanes)]
        if random_.random() < 0.5:
            values = [random_.randrange(1 << 8 * size) for _ in addresses]
            bench.issue(STORE, addresses, size=size, values=values, tag=tag)
            for address, value in zip(addresses, values, strict=True):
                for byte in range(size):
                    reference[address + byte] = value >> 8 * byte & 0xFF
        else:
            bench.issue(LOAD, addresses, size=size, tag=tag)
            expected[tag] = [
                sum(reference.get(a + byte, 0) << 8 * byte for byte in range(size))
                for a in addresses
            ]
        bench.run()
        if random_.random() < 0.1:
            bench.issue(AccessKind.ACQUIRE, tag=1000 + tag)
    bench.run()
    seen: dict[int, dict[int, int]] = {}
    for answer in bench.client.answers:
        if answer[0] == "loaded":
            _, tag, lanes_, _, values_, _ = answer
            for lane, value in zip(lanes_, values_, strict=True):
                assert lane not in seen.setdefault(tag, {})
                seen[tag][lane] = value
    assert {tag: [lanes[i] for i in sorted(lanes)] for tag, lanes in seen.items()} == expected
    assert bench.coalescer.leaks() == []
    assert bench.coalescer.oldest_issue() is None


@pytest.mark.parametrize("seed", range(12))
def test_no_wake_up_is_lost_whoever_competes(seed: int) -> None:
    random_ = random.Random(seed)
    alone = random_.random() < 0.5
    bench = Bench(
        FakeCache(0x40),
        tokens=random_.randint(4, 6) if alone else random_.randint(1, 2),
        outstanding=random_.choice([1, 3, 50]),
        coalesces_per_cycle=1,
        one_request_per_lane=alone,
    )
    engine = bench.engine
    memory = OneLevelMemory(bench.coalescer)
    bench.mini.on_message = lambda m: engine.post(memory, m, engine.now + random_.randint(1, 30))
    steady = [Recorder(engine, f"steady{i}") for i in range(6)]
    fickle = Recorder(engine, "fickle")
    total = 0
    for tag in range(40):
        kind = random_.choice([LOAD, STORE, ATOMIC, AccessKind.ACQUIRE])
        lanes = 0 if kind == AccessKind.ACQUIRE else random_.randint(1, 4)
        addresses = [4 * random_.randrange(64) for _ in range(lanes)]
        client = random_.choice([*steady, fickle])
        if client.pending:
            continue
        access = Access(kind, client, tag, addresses, 4, [1] * lanes)
        client.issue(bench.coalescer, access)
        if client is fickle:
            fickle.pending.clear()
        else:
            total += 1
        engine.run(until=engine.now + random_.randint(0, 3))
    engine.run()
    assert not any(client.pending for client in steady)
    assert len({(a[1]) for client in steady for a in client.answers}) == total
    assert bench.coalescer.leaks() == []


def test_alias_and_plain_overloads() -> None:
    assert GPUCoalescer is VIPERCoalescer
    bench = Bench()
    bench.issue(LOAD, [0])
    bench.run()
    bench.coalescer.readCallback_plain(0, DataBlock(9))
    bench.issue(STORE, [0], values=[0])
    bench.run()
    bench.coalescer.writeCallback_plain(0, DataBlock())
    assert bench.client.names() == ["loaded", "stored"]
