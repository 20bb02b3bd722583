"""Signals: every operation on every kind, in and out of a device, at rest and while it runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu.errors import HostError
from gpu.hsa.signal import CONDITIONS, Signal, SignalKind
from tests.gpu.packet_processor.harness import Bench

Operation = Callable[[Signal], int]

OPERATIONS: list[tuple[str, Operation, int]] = [
    ("add", lambda signal: signal.add(5), -2),
    ("subtract", lambda signal: signal.subtract(5), -12),
    ("increment", lambda signal: signal.increment(), -6),
    ("decrement", lambda signal: signal.decrement(), -8),
    ("and", lambda signal: signal.and_(0xF), 9),
    ("or", lambda signal: signal.or_(6), -1),
    ("xor", lambda signal: signal.xor(-1), 6),
    ("min", lambda signal: signal.min(-9), -9),
    ("max", lambda signal: signal.max(3), 3),
    ("exchange", lambda signal: signal.exchange(44), 44),
    ("swap that fits", lambda signal: signal.compare_exchange(-7, 12), 12),
    ("swap that does not", lambda signal: signal.compare_exchange(7, 12), -7),
]
"""Each on the value -7."""


def unbound() -> Signal:
    return Signal(-7)


def at_rest() -> Signal:
    return Bench().device.signal(-7)


def while_running() -> Signal:
    """A kernel is resident and the control port is in use."""
    bench = Bench(ticks={0: 10_000})
    signal = bench.device.signal(-7)
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64])
    queue.barrier_and([bench.device.signal(1)])
    queue.ring()
    bench.device.run(until=lambda: bench.memory.busy or bool(bench.log))
    return signal


@pytest.mark.parametrize("where", [unbound, at_rest, while_running])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each[0])
def test_atomics(where: Callable[[], Signal], operation: tuple[str, Operation, int]) -> None:
    signal = where()
    _, act, expected = operation
    assert act(signal) == -7, "they give the old value"
    assert signal.value == signal.load() == expected


def test_values_wrap_at_64_bits() -> None:
    signal = Signal((1 << 63) - 1)
    assert signal.increment() == (1 << 63) - 1
    assert signal.value == -(1 << 63)
    signal.store(1 << 63)
    assert signal.value == -(1 << 63)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("value", [-1, 0, 1])
def test_conditions(condition: str, value: int) -> None:
    signal = Bench().device.signal(value)
    holds = eval(f"{value} {condition} 0")
    started = signal._host._memory.now  # type: ignore[attr-defined]
    assert signal.wait(condition, 0, timeout=1000) == value
    waited = signal._host._memory.now - started  # type: ignore[attr-defined]
    assert (waited == 0) == holds, "a condition that holds needs no time"


def test_a_wait_returns_the_value_that_woke_it() -> None:
    bench = Bench()
    signal = bench.device.signal(2)
    queue = bench.device.create_queue()
    for _ in range(2):
        queue.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64], completion=signal)
    queue.ring()
    assert signal.wait("<", 1) == 0
    with pytest.raises(HostError, match="'=' is no condition"):
        signal.wait("=", 1)


def test_doorbells_only_take_stores() -> None:
    bench = Bench()
    for doorbell in ("plain", "legacy"):
        signal = bench.device.create_queue(doorbell=doorbell).doorbell
        assert signal.kind in (SignalKind.DOORBELL, SignalKind.LEGACY_DOORBELL)
        refused = r"doorbell: .* not defined"
        with pytest.raises(HostError, match=refused):
            signal.load()
        with pytest.raises(HostError, match=refused):
            signal.increment()
        with pytest.raises(HostError, match=refused):
            signal.wait("==", 0)


def test_what_is_no_signal() -> None:
    bench = Bench()
    empty = bench.device.alloc_like(bytes(64))
    signal = Signal.at(bench.device.host, empty.address)
    assert signal.kind is SignalKind.INVALID
    with pytest.raises(HostError, match="is invalid"):
        signal.store(1)
    bench.memory.write(empty.address, (9).to_bytes(8, "little"))
    with pytest.raises(HostError, match="9 is no kind of signal"):
        signal.load()
    with pytest.raises(HostError, match="64-byte aligned"):
        Signal.at(bench.device.host, empty.address + 8)
    with pytest.raises(HostError, match="no device yet"):
        _ = Signal(1).handle


def test_binding_keeps_the_value() -> None:
    bench = Bench()
    signal = Signal(1)
    signal.add(41)
    handle = bench.device.handle_of(signal)
    assert handle % 64 == 0 and bench.device.handle_of(signal) == handle
    assert signal.value == 42
    assert Signal.at(bench.device.host, handle).value == 42
    with pytest.raises(HostError, match="bound already"):
        signal.bind(bench.device.host, handle)


def test_the_host_notifies_as_well() -> None:
    bench = Bench()
    signal = bench.device.signal(0)
    event = bench.device.create_event(signal)
    signal.store(3)
    signal.add(1)
    bench.device.run()
    assert event.count >= 1 and bench.device.events.messages == [event.id, event.id]
