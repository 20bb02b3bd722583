"""Queues of contexts, their indices, and parents that are complete with their children."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Device
from gpu.errors import HostError
from gpu.host.core_api.signals import Condition
from gpu.host.core_api.status import Status
from gpu.hsa.aql import Barrier, FenceScope, Header, PacketType
from gpu.hsa.queue import LAST_INDEX
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from tests.gpu.host.core_api.opened import Opened, opened
from tests.gpu.kernels.stored import stored

INVALID = Status.ERROR_INVALID_ARGUMENT


def test_indices() -> None:
    made = opened()
    runtime, queue = made.runtime, made.queue()
    assert runtime.queue_add_write_index(queue, 2) == 0
    assert runtime.queue_cas_write_index(queue, 1, 9) == 2
    assert runtime.queue_cas_write_index(queue, 2, 9) == 2
    assert runtime.queue_set_write_index(queue, 4) == 9
    assert runtime.queue_get_write_index(queue) == queue.write_index == 4
    assert runtime.queue_get_read_index(queue) == 0
    assert runtime.queue_force_inactivate(queue) is Status.SUCCESS
    assert runtime.queue_force_inactivate(queue) is Status.SUCCESS
    for change in (runtime.queue_add_write_index, runtime.queue_set_write_index):
        assert change(queue, 7) == 4
    assert runtime.queue_get_write_index(queue) == 4
    assert not made.errors


@pytest.mark.parametrize("by", ["set", "cas", "add"])
def test_the_last_index_stops_the_queue(by: str) -> None:
    made = opened()
    runtime, queue = made.runtime, made.queue()
    if by == "set":
        runtime.queue_set_write_index(queue, LAST_INDEX)
    elif by == "cas":
        runtime.queue_cas_write_index(queue, 0, LAST_INDEX)
    else:
        runtime.queue_add_write_index(queue, -1)
    runtime.device.run()
    (error,) = made.errors
    assert error.type is Status.ERROR_QUEUE and error.packet_id is None
    assert "queue 0: a write index is below its maximum" in error.text
    assert queue.state is QueueState.INACTIVE


def test_what_queues_are_refused_for() -> None:
    made = opened()
    runtime, context = made.runtime, made.context
    host = runtime.device.topology.agents[0]
    for arguments in (
        (host, 8, 0, context),
        (None, 8, 0, context),
        (made.component, 7, 0, context),
        (made.component, 0, 0, context),
        (made.component, 1 << 40, 0, context),
        (made.component, 8, 1, context),
        (made.component, 8, 0, None),
    ):
        assert runtime.queue_create(*arguments) == (INVALID, None)
    queue = made.queue()
    assert runtime.queue_destroy(queue) is Status.SUCCESS
    assert runtime.queue_destroy(queue) is INVALID
    assert runtime.queue_force_inactivate(queue) is INVALID
    assert runtime.queue_destroy(None) is INVALID
    with pytest.raises(HostError, match="no such queue"):
        runtime.queue_get_write_index(queue)


def test_there_are_as_many_queues_as_doorbells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.host.processes.context.DOORBELLS", 1)
    made = opened()
    made.queue()
    found = made.runtime.queue_create(made.component, 8, 0, made.context)
    assert found == (Status.ERROR_OUT_OF_RESOURCES, None)


def test_packets_with_the_header_of_the_draft() -> None:
    made = opened(packets="draft")
    queue, done = made.queue(), made.signal(1)
    queue.barrier_and([], completion=made.runtime.signal_of(done))
    queue.ring()
    assert made.runtime.signal_wait(done, Condition.EQUALS, 0) == (Status.SUCCESS, 0)


@pytest.mark.parametrize("named", ["destroyed", "unmapped", "doorbell"])
def test_destroying_a_queue_whose_packets_name_no_signal(named: str) -> None:
    made = opened()
    queue, handle = made.queue(), made.signal(1)
    if named == "destroyed":
        made.runtime.signal_destroy(handle)
    elif named == "unmapped":
        handle = 1 << 40
    else:
        handle = made.queue().doorbell.handle
    packet = Barrier(
        header=Header(PacketType.BARRIER_AND, False, FenceScope.NONE, FenceScope.NONE),
        dependencies=(made.signal(1),),
        completion=handle,
    )
    queue.submit(packet)
    queue.submit(packet)
    queue.ring()
    made.runtime.device.run()
    assert made.runtime.queue_destroy(queue) is Status.SUCCESS


# ------------------------------------------------------------------ children


class Family:
    """A kernel that writes one packet (`enqueue` of the corpus), and the packet's kernel."""

    def __init__(self, broken: bool = False) -> None:
        self.made: Opened = opened(Device(cus=1))
        runtime, device = self.made.runtime, self.made.runtime.device
        self.queue = self.made.queue()
        self.parent, self.children = self.made.signal(1), self.made.signal(1)
        self.whole = self.made.signal(1)
        values = np.arange(64, dtype=np.int32)
        self.result = device.alloc_like(values)
        child = device.loaded_kernel(stored("vadd")["vadd_i"])
        places = [device.alloc(values).address, 16 if broken else device.alloc(values).address]
        arguments = device.arguments(np.array([*places, self.result.address], np.uint64).tobytes())
        self.queue.dispatch(
            stored("device_hsa")["enqueue"],
            64,
            64,
            [self.queue.address, child.object_address, arguments, self.children, 64],
            completion=runtime.signal_of(self.parent),
        )

    def track(self) -> Status:
        return self.made.runtime.children_track(self.parent, self.children, self.whole)

    def value(self, handle: int) -> int:
        return self.made.runtime.signal_query(handle)[1] or 0


def test_a_parent_is_complete_with_its_children() -> None:
    family = Family()
    assert family.track() is Status.SUCCESS
    family.queue.ring()
    seen = []
    device = family.made.runtime.device
    while family.value(family.whole):
        device.run(limit=1)
        seen.append((family.value(family.parent), family.value(family.children)))
    assert (0, 1) in seen  # the parent has ended and the whole has not
    assert seen[-1] == (0, 0)
    assert family.result.numpy().tolist() == list(range(0, 128, 2))


def test_a_child_that_fails_fails_the_whole() -> None:
    family = Family(broken=True)
    family.track()
    family.queue.ring()
    family.made.runtime.device.run()
    assert family.value(family.parent) == 0
    assert family.value(family.children) == family.value(family.whole) == ERROR_VALUE
    (error,) = family.made.errors
    assert (error.type, error.packet_id) == (Status.ERROR_KERNEL, 1)


def test_children_that_do_not_come_are_waited_for() -> None:
    family = Family()
    family.made.runtime.signal_add(family.children, 1)
    family.track()
    family.queue.ring()
    waited = family.made.runtime.signal_wait(family.whole, Condition.EQUALS, 0)
    assert waited == (Status.INFO_SIGNAL_TIMEOUT, 1)


def test_what_tracking_is_refused_for() -> None:
    made = opened()
    first, second, third = made.signal(1), made.signal(0), made.signal(1)
    track = made.runtime.children_track
    assert track(first, second, 64) is INVALID
    assert track(first, second, second) is INVALID
    assert track(first, second, third) is Status.SUCCESS
    made.runtime.signal_destroy(second)
    made.runtime.signal_send(first, 0)
    made.runtime.device.run()
    assert made.runtime.signal_query(third) == (Status.SUCCESS, ERROR_VALUE)
