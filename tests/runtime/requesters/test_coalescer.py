"""The coalescer behind a hand-written controller: shapes of requests, order, answers.

Tokens and synchronisation have files of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.coalescer import GPUCoalescer, VIPERCoalescer
from runtime.requesters.port import Access, AccessKind
from runtime.types.atomic_op import AtomicKind
from runtime.types.messages import RubyRequestType
from runtime.types.values import DataBlock
from tests.runtime.requesters.coalescer_harness import ATOMIC, LOAD, STORE, Bench
from tests.runtime.requesters.requester_kit import FakeCache, mask_bytes

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
    assert bench.coalescer.outstanding() == []


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


# ------------------------------------------------------------------ watchdog, random drive


def test_the_oldest_unanswered_access_is_the_first_outstanding() -> None:
    bench = Bench()
    bench.issue(LOAD, [0x40])
    bench.run()
    bench.engine.now = 50
    bench.issue(LOAD, [0x80])
    bench.run()
    assert [part.issued for part in bench.coalescer.outstanding()] == [0, 50]
    bench.coalescer.readCallback(0x40, 0, DataBlock())
    assert [part.issued for part in bench.coalescer.outstanding()] == [50]


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
    assert bench.coalescer.outstanding() == []


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
