"""Order, dependencies, errors and states of queues, on fake compute units."""

from __future__ import annotations

import random

import pytest

from gpu.dispatch.dispatcher import Placement
from gpu.errors import GpuError, HostError, KernelError, NoProgressError, PacketError
from gpu.host.device_core import Options
from gpu.hsa.aql import PacketType
from gpu.hsa.queue import LAST_INDEX, empty_ring
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE, Signal
from gpu.packet_processor.fences import Obey
from gpu.packet_processor.packet_processor import Pace
from runtime.requesters.port import AccessKind
from tests.gpu.packet_processor.harness import Bench
from tests.sampling import sampled

ARGS = [0, 0, 0, 64]


# ------------------------------------------------------------------ the ring


def test_a_ring_of_four_takes_many_packets() -> None:
    bench = Bench()
    queue = bench.device.create_queue(4)
    done = Signal(1)
    for packet in range(19):
        queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=done if packet == 18 else None)
    queue.ring()
    bench.device.run()
    assert [packet for packet, _ in bench.events("start")] == list(range(19))
    assert (queue.read_index, queue.write_index, done.value) == (19, 19, 0)
    ring = bench.memory.read(queue.field("base_address"), 256)
    assert {ring[slot] for slot in range(0, 256, 64)} == {PacketType.INVALID}


def test_several_producers_have_packets_of_their_own() -> None:
    """Two reserve, the second writes first: nothing is taken before the first has written."""
    bench = Bench()
    queue, source = bench.device.create_queue(8), bench.device.create_queue(8)
    for _ in range(2):
        source.dispatch(bench.kernel(), 64, 64, ARGS)
    packets = [bench.memory.read(source.field("base_address") + 64 * i, 64) for i in range(2)]
    first, second = queue.reserve(), queue.reserve()
    assert (first, second) == (0, 1)
    queue.write(second, packets[1])
    queue.ring(second)
    bench.device.run()
    assert not bench.log and queue.read_index == 0
    queue.write(first, packets[0])
    bench.device.run()
    assert [packet for packet, _ in bench.events("start")] == [0, 1]


def test_index_operations() -> None:
    queue = Bench().device.create_queue(8, producers="one")
    assert queue.add_write_index(3) == 0
    assert queue.exchange_write_index(2, 9) == 3
    assert queue.exchange_write_index(3, 9) == 3
    assert queue.write_index == 9
    queue.store_write_index(LAST_INDEX)
    with pytest.raises(HostError, match="write index has reached its maximum"):
        queue.reserve()


@pytest.mark.parametrize("doorbell", ["plain", "legacy", "gfx7"])
def test_doorbells_ahead_behind_and_without_packets(doorbell: str) -> None:
    bench = Bench()
    queue = bench.device.create_queue(8, doorbell=doorbell)
    queue.ring(2)
    bench.device.run()
    assert not bench.log
    for _ in range(3):
        queue.dispatch(bench.kernel(), 64, 64, ARGS)
    bench.device.run()
    assert len(bench.events("end")) == 3, "the doorbell was ahead"
    queue.doorbell.store(0)
    bench.device.run()
    assert queue.read_index == 3, "the doorbell went back"
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    bench.device.run()
    assert len(bench.events("end")) == 3, "the doorbell was not rung"
    queue.ring()
    bench.device.run()
    assert len(bench.events("end")) == 4


def test_the_legacy_doorbell_is_the_index_past_the_last() -> None:
    bench = Bench()
    queue = bench.device.create_queue(8, doorbell="legacy")
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    queue.ring()
    assert queue.field("max_legacy_doorbell_dispatch_id_plus_1") == 1
    assert queue.link.promised == 1
    queue.doorbell.store(4)
    assert queue.field("max_legacy_doorbell_dispatch_id_plus_1") == 5
    queue.doorbell.store(1)
    assert queue.field("max_legacy_doorbell_dispatch_id_plus_1") == 5, "never backwards"
    assert queue.link.promised == 5
    assert queue.field("legacy_doorbell_lock") == 0


def test_the_doorbell_of_gfx7_counts_dwords() -> None:
    """In a ring of twice the size, as the write index does without an end."""
    bench = Bench()
    queue = bench.device.create_queue(4, doorbell="gfx7")
    written = []
    rung = queue.link.rung
    bench.memory.space.at(bench.device.doorbells, 8).on_store = lambda address, data: (
        written.append(data),
        rung(data),
    )
    for number in range(11):
        queue.dispatch(bench.kernel(), 64, 64, ARGS)
        queue.ring()
        bench.device.run()
        assert queue.field("write_dispatch_id") == 16 * (number + 1)
        assert queue.write_index == queue.read_index == number + 1
    values = [int.from_bytes(data, "little") for data in written]
    assert values == [16 * (number % 8) for number in range(1, 12)]
    assert queue.exchange_write_index(11, 12) == 11
    assert queue.add_write_index(2) == 12
    queue.store_write_index(20)
    assert queue.field("write_dispatch_id") == 16 * 20


def test_a_held_doorbell_lock() -> None:
    bench = Bench()
    queue = bench.device.create_queue(8, doorbell="legacy")
    bench.memory.write(queue.address + 88, (1).to_bytes(4, "little"))
    with pytest.raises(NoProgressError, match="doorbell lock"):
        queue.doorbell.store(0)
    bench.memory.write(queue.address + 88, bytes(4))
    queue.doorbell.store(0)
    assert queue.link.promised == 1


def test_doorbells_of_four_bytes() -> None:
    """They mean the nearest number that is not far behind."""
    link = Bench().device.create_queue(8, doorbell="legacy").link
    link.rung((0xFFFF_FFF0).to_bytes(8, "little"))
    link.rung((8).to_bytes(4, "little"))
    assert link.promised == (1 << 32) + 8
    link.rung((4).to_bytes(4, "little"))
    assert link.promised == (1 << 32) + 8


# ------------------------------------------------------------------ order


def test_packets_overlap_unless_the_barrier_bit_is_set() -> None:
    bench = Bench(ticks={0: 500, 1: 50, 2: 10})
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, barrier=True)
    queue.ring()
    bench.device.run()
    assert bench.tick_of("start", 1) < bench.tick_of("end", 0)
    assert bench.tick_of("start", 2) > bench.tick_of("end", 0) > bench.tick_of("end", 1)


@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("kind", ["and", "or"])
def test_barrier_packets_with_so_many_signals(kind: str, count: int) -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    signals = [bench.device.signal(1) for _ in range(count)]
    wait = queue.barrier_and if kind == "and" else queue.barrier_or
    done = Signal(1)
    wait(signals, completion=done)
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    queue.ring()
    order = list(range(count))[::-1]
    needed = {"and": count, "or": min(1, count)}[kind]
    for met in range(needed):
        bench.device.run()
        assert done.value == 1 and not bench.log, f"{met} of {count} signals are 0"
        signals[order[met]].store(0)
    bench.device.run(until=done)
    bench.device.run()
    assert len(bench.events("end")) == 1


def test_what_a_blocked_wait_says() -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    never, done = bench.device.signal(3), Signal(1)
    queue.barrier_and([never], completion=done)
    queue.ring()
    with pytest.raises(NoProgressError) as caught:
        bench.device.run(until=done)
    assert f"queue 0: packet 0 waits for signal {never.handle:#x} = 3" in str(caught.value)


def test_another_queue_meets_the_dependency() -> None:
    bench = Bench(ticks={0: 700})
    first, second = bench.device.create_queue(), bench.device.create_queue()
    met, done = Signal(1), Signal(1)
    second.barrier_and([met])
    second.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    second.ring()
    first.dispatch(bench.kernel(), 64, 64, ARGS, completion=met)
    first.ring()
    bench.device.run(until=done)
    queues = [group.queue for kind, _, group in bench.log if kind == "start"]
    assert queues == [first.address, second.address]
    assert bench.tick_of("start", 1) > bench.tick_of("end", 0)


def graph_times(edges: dict[int, list[int]], nodes: int, seed: int) -> Bench:
    """Run a graph: every node a dispatch in one of two queues, its edges barrier packets."""
    prng = random.Random(seed)
    bench = Bench()
    queues = [bench.device.create_queue(4), bench.device.create_queue(4)]
    signals = [bench.device.signal(1) for _ in range(nodes)]
    for node in range(nodes):
        queue = prng.choice(queues)
        before = [signals[other] for other in edges.get(node, [])]
        for start in range(0, len(before), 5):
            queue.barrier_and(before[start : start + 5])
        bench.ticks[node * 1000] = prng.randint(1, 400)
        # The global offset goes nowhere here; the grid names the node.
        queue.dispatch(bench.kernel(), 64 + node, 64 + node, ARGS, completion=signals[node])
        queue.ring()
    bench.device.run(until=lambda: all(signal.value == 0 for signal in signals))
    return bench


def assert_edges(bench: Bench, edges: dict[int, list[int]], nodes: int) -> None:
    times: dict[int, dict[str, int]] = {}
    for event, tick, group in bench.log:
        node = sum(bin(wave.exec).count("1") for wave in group.waves) - 64
        times.setdefault(node, {})[event] = tick
    assert sorted(times) == list(range(nodes))
    for node, before in edges.items():
        for other in before:
            assert times[other]["end"] < times[node]["start"], f"{other} before {node}"


def test_a_diamond() -> None:
    edges = {1: [0], 2: [0], 3: [1, 2]}
    assert_edges(graph_times(edges, 4, 0), edges, 4)


@pytest.mark.parametrize("seed", sampled(range(100), 4))
def test_random_graphs(seed: int) -> None:
    prng = random.Random(seed)
    nodes = prng.randint(3, 12)
    edges = {
        node: sorted(prng.sample(range(node), prng.randint(0, min(node, 7))))
        for node in range(1, nodes)
    }
    assert_edges(graph_times(edges, nodes, seed), edges, nodes)


# ------------------------------------------------------------------ errors and states


def test_a_negative_dependency_is_an_error() -> None:
    """Execution continues from queue to queue, through completion signals."""
    bench = Bench()
    errors: list[str] = []
    queues = [
        bench.device.create_queue(on_error=lambda queue, error: errors.append(str(error)))
        for _ in range(3)
    ]
    signals = [bench.device.signal(1) for _ in range(3)]
    queues[1].barrier_and([signals[0]], completion=signals[1])
    queues[2].barrier_or([signals[1]], completion=signals[2])
    for queue in queues[1:]:
        queue.ring()
    bench.device.run()
    signals[0].store(-1)
    bench.device.run()
    assert [signal.value for signal in signals] == [-1, ERROR_VALUE, ERROR_VALUE]
    assert [queue.state for queue in queues[1:]] == [QueueState.INACTIVE] * 2
    assert queues[0].state is QueueState.ACTIVE
    assert [error.split(":")[0] for error in errors] == ["queue 1, packet 0", "queue 2, packet 0"]


def test_an_error_lets_running_kernels_end() -> None:
    """Error pending until they have; the packet behind the bad one is never taken."""
    bench = Bench(ticks={0: 3000})
    states: list[QueueState] = []
    queue = bench.device.create_queue(on_error=lambda queue, error: states.append(queue.state))
    good, bad, behind = Signal(1), Signal(1), Signal(1)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=good)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=bad, group_bytes=1 << 17)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=behind)
    queue.ring()
    bench.device.run(until=bad)
    assert bad.value == ERROR_VALUE
    assert (queue.state, states, good.value) == (QueueState.ERROR_PENDING, [], 1)
    with pytest.raises(PacketError, match="at most 65536"):
        queue.dispatch(bench.kernel(), 64, 64, ARGS)
    bench.device.run()
    assert (queue.state, states) == (QueueState.INACTIVE, [QueueState.INACTIVE])
    assert (good.value, behind.value) == (0, 1)
    assert Signal.at(bench.device.host, queue.field("queue_inactive_signal")).value == 1
    index = queue.write_index
    queue.ring(9)
    queue.store_write_index(99)
    assert queue.add_write_index(1) == queue.exchange_write_index(index, 1) == index
    assert (queue.link.promised, queue.write_index) == (3, index)


def test_a_fault_ends_all_waves_of_its_queue() -> None:
    bench = Bench(ticks={0: 100, 1: 5000}, faults={0: "s_trap 2"})
    queue, other = bench.device.create_queue(), bench.device.create_queue()
    failed, killed, fine = Signal(1), Signal(1), Signal(1)
    queue.dispatch(bench.kernel(), 256, 64, ARGS, completion=failed)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=killed)
    queue.ring()
    with pytest.raises(KernelError, match="queue 0, packet 0: kernel vadd: s_trap 2"):
        bench.device.run()
    assert failed.value == killed.value == ERROR_VALUE
    assert all(unit.idle and unit.resources.idle for unit in bench.units)
    assert bench.tick_of("kill", 1) < 1000
    bench.faults.clear()
    other.dispatch(bench.kernel(), 64, 64, ARGS, completion=fine)
    other.ring()
    bench.device.run(until=fine)


def test_inactivating_by_request() -> None:
    bench = Bench(ticks={0: 5000})
    called: list[GpuError] = []
    queue = bench.device.create_queue(on_error=lambda _, error: called.append(error))
    running, waiting = Signal(1), Signal(1)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=running)
    queue.barrier_and([bench.device.signal(1)], completion=waiting)
    queue.ring()
    bench.device.run(limit=50)
    bench.device.inactivate(queue)
    assert queue.state is QueueState.INACTIVE
    assert running.value == waiting.value == ERROR_VALUE
    assert not called, "the host knows already"
    assert bench.units[0].idle and bench.units[1].idle
    bench.device.inactivate(queue)
    bench.device.run()


def test_destroying_a_queue_fails_what_is_left() -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    signals = [Signal(1) for _ in range(3)]
    for signal in signals:
        queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=signal)
    bench.device.destroy(queue)
    assert queue.state is QueueState.DESTROYED
    assert [signal.value for signal in signals] == [ERROR_VALUE] * 3
    with pytest.raises(GpuError, match="destroyed by the host"):
        queue.dispatch(bench.kernel(), 64, 64, ARGS)
    bench.device.destroy(queue)
    bench.device.run()


# ------------------------------------------------------------------ fences, times, agents


@pytest.mark.parametrize(
    ("acquire", "release", "obey", "kinds"),
    [
        ("none", "none", Obey.HEADER, []),
        ("agent", "none", Obey.HEADER, [AccessKind.ACQUIRE]),
        ("none", "system", Obey.HEADER, [AccessKind.RELEASE]),
        ("none", "none", Obey.ALWAYS, [AccessKind.ACQUIRE, AccessKind.RELEASE]),
    ],
)
def test_fences_on_the_ports_of_the_mask(
    acquire: str,
    release: str,
    obey: Obey,
    kinds: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(cus=4, options=Options(fences=obey))
    seen: list[tuple[int, int]] = []
    push = bench.memory.push

    def spy(request) -> None:  # type: ignore[no-untyped-def]
        if request.kind > AccessKind.ATOMIC:
            seen.append((request.kind, request.port))
        push(request)

    monkeypatch.setattr(bench.memory, "push", spy)
    queue = bench.device.create_queue(cu_mask=0b1010)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, acquire=acquire, release=release)
    queue.ring()
    bench.device.run()
    scalar, code = bench.memory.ports.scalar(1), bench.memory.ports.fetch(1)
    ports = {AccessKind.ACQUIRE: (1, 3, scalar, code), AccessKind.RELEASE: (1, 3, scalar)}
    assert seen == [(kind, port) for kind in kinds for port in ports[kind]]


def test_times_are_written_when_the_queue_is_profiled() -> None:
    bench = Bench(ticks={0: 300})
    queue, plain = bench.device.create_queue(profiled=True), bench.device.create_queue()
    timed, untimed = Signal(1), Signal(1)
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=timed)
    plain.barrier_and([], completion=untimed)
    queue.ring()
    plain.ring()
    bench.device.run()
    start, end = timed.times
    assert start <= bench.tick_of("start", 0) < bench.tick_of("end", 0) <= end
    assert untimed.times == (0, 0)


def test_agent_dispatch() -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    heard: list[tuple[int, ...]] = []

    def handler(arguments: tuple[int, int, int, int]) -> int:
        heard.append(arguments)
        inside.subtract(1)
        return sum(arguments)

    inside, done = bench.device.signal(5), Signal(1)
    result = bench.device.alloc_like([0])
    bench.device.on_agent_dispatch(7, handler)
    queue.agent_dispatch(7, (1, 2, 3), return_address=result.address, completion=done)
    queue.ring()
    bench.device.run(until=done)
    assert heard == [(1, 2, 3, 0)] and result.numpy()[0] == 6 and inside.value == 4
    queue.agent_dispatch(8)
    queue.ring()
    with pytest.raises(PacketError, match="type that is handled, not 8"):
        bench.device.run()


def test_events_and_mailboxes() -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    done = Signal(1)
    other, event = bench.device.create_event(), bench.device.create_event(done)
    assert event.id == 2
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    queue.ring()
    bench.device.run()
    assert (event.count, other.count, bench.device.events.messages) == (1, 0, [2])
    done.store(4)
    bench.device.run()
    assert event.count == 2
    assert bench.memory.read(event.mailbox, 8) == b"\xff" * 8


def test_same_calls_same_ticks() -> None:
    def trace() -> list[tuple[str, int, tuple[int, int, int]]]:
        bench = Bench(options=Options(pace=Pace(packet=7), placement=Placement.FIRST_FIT))
        queues = [bench.device.create_queue(4) for _ in range(3)]
        for i in range(12):
            queues[i % 3].dispatch(bench.kernel(), 300, 64, ARGS)
            queues[i % 3].ring()
        bench.device.run()
        return [(kind, tick, group.id) for kind, tick, group in bench.log]

    first = trace()
    assert len(first) == 2 * 12 * 5
    assert first == trace()


def test_a_packet_that_stays_invalid_is_no_reason_to_hang() -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    queue.write(queue.reserve(), empty_ring(1))
    queue.ring()
    bench.device.run()
    assert queue.read_index == 0
