"""Opening, closing, contexts, callbacks, status codes, the topology table."""

from __future__ import annotations

import pytest

from gpu import Device
from gpu.errors import HostError
from gpu.host.core_api.contexts import Notification
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.core_api.status import Status
from tests.gpu.host.core_api.opened import opened


def test_every_status_has_a_text_and_a_sign() -> None:
    runtime = opened().runtime
    texts = set()
    for status in Status:
        found, text = runtime.status_query_description(status)
        assert found is Status.SUCCESS and text is not None and text.isascii()
        texts.add(text)
        negative = status.name.startswith("ERROR")
        assert negative == (status < 0) and (status == 0) == (status is Status.SUCCESS)
    assert len(texts) == len(Status)
    assert runtime.status_query_description(12345) == (Status.NONE, None)


def test_the_last_reference_closes() -> None:
    made = opened()
    runtime = made.runtime
    _, second = runtime.context_acquire(made.context)
    assert second is not None and second is not made.context
    assert runtime.close() is Status.SUCCESS and runtime.is_open
    assert runtime.close() is Status.ERROR_NOT_INITIALIZED  # its reference is given up once
    assert runtime.context_acquire(made.context) == (Status.ERROR_NOT_INITIALIZED, None)
    assert runtime.context_release(second) is Status.SUCCESS and not runtime.is_open
    assert runtime.context_release(second) is Status.ERROR_NOT_INITIALIZED
    assert runtime.signal_create(1, second) == (Status.ERROR_NOT_INITIALIZED, None)


def test_a_second_opening_is_notified_and_counts_nothing() -> None:
    made = opened()
    heard: list[Notification] = []
    assert made.runtime.open(heard.append, "mine") == (Status.SUCCESS, made.context)
    assert [(each.status, each.user_data) for each in heard] == [
        (Status.INFO_ALREADY_INITIALIZED, "mine")
    ]
    made.runtime.open()
    assert [each.user_data for each in made.notifications] == ["notes"]
    assert made.runtime.close() is Status.SUCCESS and not made.runtime.is_open


def test_what_contexts_are_refused_for() -> None:
    made = opened()
    runtime = made.runtime
    assert runtime.context_acquire(None) == (Status.ERROR_CONTEXT_NULL, None)
    assert runtime.context_release(None) is Status.ERROR_CONTEXT_NULL
    assert runtime.context_release(made.context) is Status.ERROR_INVALID_ARGUMENT
    for register in (runtime.error_callback_register, runtime.notification_callback_register):
        assert register(None, None, made.context) is Status.ERROR_INVALID_ARGUMENT
        assert register(lambda info: None, None, None) is Status.ERROR_INVALID_ARGUMENT
    other = opened().context
    assert runtime.context_acquire(other) == (Status.ERROR_NOT_INITIALIZED, None)


def test_errors_reach_the_context_of_their_queue_alone() -> None:
    made = opened()
    runtime = made.runtime
    _, other = runtime.context_acquire(made.context)
    heard: list[object] = []
    assert runtime.error_callback_register(heard.append, None, other) is Status.SUCCESS
    queue, done = made.queue(), made.signal(1)
    queue.write(queue.reserve(), bytes([99] * 64))
    queue.ring()
    runtime.device.run()
    (error,) = made.errors
    assert (error.type, error.queue_id, error.user_data) == (Status.ERROR_QUEUE, 0, "errors")
    assert 0 < error.timestamp <= runtime.device.now and "packet 0" in error.text
    assert not heard
    _, again = runtime.queue_create(made.component, 4, 0, other)
    assert again is not None
    again.agent_dispatch(77, completion=runtime.signal_of(done))
    again.ring()
    runtime.device.run()
    assert len(made.errors) == len(heard) == 1
    assert runtime.signal_wait(done, 0, 0)[0] is Status.ERROR


def test_the_topology_table() -> None:
    made = opened()
    runtime = made.runtime
    status, table = runtime.topology_table_create()
    assert status is Status.SUCCESS and table is not None
    assert table.node_ids == (0,) and 1 <= table.timestamp_mhz <= 400
    assert table.topology == runtime.device.topology
    assert {agent.node for agent in table.agents} == {0}
    assert runtime.close() is Status.ERROR_RESOURCE_FREE and runtime.is_open
    assert runtime.topology_table_destroy(None) is Status.ERROR_INVALID_ARGUMENT
    assert runtime.topology_table_destroy(table) is Status.SUCCESS
    assert runtime.topology_table_destroy(table) is Status.ERROR_INVALID_ARGUMENT
    assert runtime.close() is Status.SUCCESS


@pytest.mark.parametrize("mhz", [0, 401])
def test_the_clock_has_the_frequency_that_is_allowed(mhz: int) -> None:
    with pytest.raises(HostError, match=f"1 to 400 MHz, not {mhz}"):
        CoreRuntime(Device(cus=1), timestamp_mhz=mhz)


def test_closing_frees_what_was_made() -> None:
    made = opened()
    runtime = made.runtime
    queue, done = made.queue(), made.signal(1)
    queue.barrier_and([runtime.device.signal(1)], completion=runtime.signal_of(done))
    queue.ring()
    runtime.device.run()
    _, local = runtime.memory_allocate_component_local(made.component, 64)
    assert local
    assert runtime.close() is Status.SUCCESS
    space = runtime.device.memory.space
    assert space.find(local) is None and space.find(queue.address) is None
    with pytest.raises(HostError, match="no such queue"):
        runtime.queue_get_read_index(queue)
    assert runtime.open()[0] is Status.SUCCESS
    assert runtime.signal_query(done) == (Status.ERROR_INVALID_ARGUMENT, None)
