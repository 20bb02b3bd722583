"""Signals of contexts: operations, waits with their statuses, binding."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu.host.core_api.contexts import Notification
from gpu.host.core_api.signals import Condition
from gpu.host.core_api.status import Status
from gpu.hsa.signal import ERROR_VALUE
from tests.gpu.host.core_api.opened import opened

INVALID = Status.ERROR_INVALID_ARGUMENT


def test_operations() -> None:
    made = opened()
    runtime, handle = made.runtime, made.signal(12)
    changes: tuple[tuple[Callable[..., Status], tuple[int, ...], int], ...] = (
        (runtime.signal_add, (5,), 17),
        (runtime.signal_subtract, (1,), 16),
        (runtime.signal_or, (5,), 21),
        (runtime.signal_and, (7,), 5),
        (runtime.signal_xor, (3,), 6),
        (runtime.signal_increment, (), 7),
        (runtime.signal_decrement, (), 6),
        (runtime.signal_send, (-9,), -9),
    )
    for call, operands, value in changes:
        assert call(handle, *operands, "sequential") is INVALID
        assert call(handle, *operands, "relaxed") is Status.SUCCESS
        assert runtime.signal_query(handle) == (Status.SUCCESS, value)
    assert runtime.signal_exchange(handle, 4) == (Status.SUCCESS, -9)
    assert runtime.signal_cas(handle, 5, 6) == (Status.SUCCESS, 4)
    assert runtime.signal_cas(handle, 4, 6) == (Status.SUCCESS, 4)
    assert runtime.signal_max(handle, 8) == (Status.SUCCESS, 6)
    assert runtime.signal_min(handle, 2) == (Status.SUCCESS, 8)
    assert runtime.signal_query(handle) == (Status.SUCCESS, 2)
    assert runtime.signal_cas(handle, 2, 3, "relaxed") == (INVALID, None)
    assert runtime.signal_add(handle, 1 << 63) is INVALID


def test_waits_say_how_they_ended() -> None:
    made = opened()
    runtime, handle = made.runtime, made.signal(3)
    for condition, compare, holds in (
        (Condition.EQUALS, 3, True),
        (Condition.NOTEQUALS, 3, False),
        (Condition.GREATER, 2, True),
        (Condition.GREATER_EQUALS, 4, False),
        (Condition.LESSER, 4, True),
        (Condition.LESSER_EQUALS, 2, False),
    ):
        wanted = Status.SUCCESS if holds else Status.INFO_SIGNAL_TIMEOUT
        assert runtime.signal_wait(handle, condition, compare) == (wanted, 3)
    assert runtime.signal_wait(handle, 6, 0) == (INVALID, None)
    assert runtime.signal_wait(handle, 0, 3, "release") == (INVALID, None)
    runtime.signal_send(handle, ERROR_VALUE)
    found = runtime.signal_wait(handle, Condition.EQUALS, ERROR_VALUE, "acquire_release")
    assert found == (Status.ERROR, ERROR_VALUE)
    assert runtime.signal_get_timeout() == 500


def test_a_wait_runs_the_device_until_the_condition_holds() -> None:
    made = opened()
    runtime, handle, queue = made.runtime, made.signal(1), made.queue()
    queue.barrier_and([], completion=runtime.signal_of(handle))
    queue.ring()
    assert runtime.signal_query(handle) == (Status.SUCCESS, 1)
    assert runtime.signal_wait(handle, Condition.LESSER, 1) == (Status.SUCCESS, 0)


def test_contexts_that_a_signal_is_bound_to_are_notified() -> None:
    made = opened()
    runtime, handle = made.runtime, made.signal(1)
    _, other = runtime.context_acquire(made.context)
    heard: list[Notification] = []
    runtime.notification_callback_register(heard.append, None, other)

    def times_out() -> tuple[int, int]:
        assert runtime.signal_wait(handle, Condition.EQUALS, 0)[0] is Status.INFO_SIGNAL_TIMEOUT
        return len(made.notifications), len(heard)

    assert times_out() == (1, 0)
    assert runtime.signal_bind(handle, other) is Status.SUCCESS
    assert runtime.signal_bind(handle, other) is Status.SUCCESS
    assert times_out() == (2, 1)
    assert runtime.signal_unbind(handle, made.context) is Status.SUCCESS
    assert times_out() == (2, 2)
    assert runtime.signal_unbind(handle, made.context) is Status.ERROR_SIGNAL_NOT_BOUND
    runtime.context_release(other)
    assert times_out() == (2, 2)
    assert runtime.signal_unbind(handle, other) is INVALID


def test_a_destroyed_signal_is_none() -> None:
    made = opened()
    runtime, handle, queue = made.runtime, made.signal(1), made.queue()
    signal = runtime.signal_of(handle)
    assert runtime.signal_destroy(handle) is Status.SUCCESS
    assert runtime.signal_destroy(handle) is INVALID
    assert runtime.signal_query(handle) == (INVALID, None)
    assert runtime.signal_bind(handle, made.context) is INVALID
    queue.barrier_and([], completion=signal)
    queue.ring()
    runtime.device.run()
    (error,) = made.errors
    assert (error.type, error.packet_id) == (Status.ERROR_PACKET, 0)


@pytest.mark.parametrize("value", [-(1 << 63) - 1, 1 << 63])
def test_values_have_64_bits(value: int) -> None:
    made = opened()
    assert made.runtime.signal_create(value, made.context) == (INVALID, None)
    assert made.runtime.signal_create(0, None) == (INVALID, None)
