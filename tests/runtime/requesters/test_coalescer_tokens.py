"""Who is refused by a coalescer for want of tokens or rows, and who comes next."""

from __future__ import annotations

import random

import pytest

from runtime.requesters.port import Access, AccessKind
from runtime.types.values import DataBlock
from tests.runtime.requesters.coalescer_harness import ATOMIC, LOAD, STORE, Bench
from tests.runtime.requesters.requester_kit import FakeCache, OneLevelMemory, Recorder


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
