"""Atomic operations of a sequencer by load-linked and store-conditional, and far away."""

from __future__ import annotations

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.port import LINKED_TRIES, AtomicWay
from runtime.types.atomic_op import AtomicKind
from runtime.types.enumerations import AccessPermission
from runtime.types.values import DataBlock
from tests.runtime.requesters.requester_kit import FakeCache, mask_bytes
from tests.runtime.requesters.test_sequencer import ATOMIC, LOAD, STORE, Bench

LINE = 0x40


class Linked(Bench):
    """A sequencer of load-linked and store-conditional, with one line in its cache."""

    def __init__(self, way: int = AtomicWay.LINKED) -> None:
        self.cache = FakeCache(LINE)
        super().__init__(self.cache, atomics=way)
        self.block = DataBlock(5)
        self.issue(ATOMIC, [LINE], values=[10])
        self.run()

    def link(self) -> None:
        """The load-linked gets its data, and the store-conditional is sent."""
        self.sequencer.readCallback(LINE, self.block)
        self.run()

    def lose(self) -> None:
        self.sequencer.evictionCallback(LINE)


@pytest.mark.parametrize(
    ("way", "store"), [(AtomicWay.LINKED, "ST"), (AtomicWay.CONDITIONAL, "Store_Conditional")]
)
def test_a_load_and_a_store_make_an_operation(way: int, store: str) -> None:
    bench = Linked(way)
    assert bench.mini.types() == ["LD"]
    bench.link()
    assert bench.client.answers == []
    assert bench.mini.types() == ["LD", store]
    assert bench.sequencer.llscCheckMonitor(LINE)
    bench.sequencer.writeCallback(LINE, bench.block)
    assert bench.block.data == 15
    assert bench.client.answers == [("atomic", 0, [0], [5], bench.engine.now)]
    assert not bench.sequencer.llscCheckMonitor(LINE)
    assert bench.sequencer.leaks() == []


def test_without_a_reservation_it_begins_again() -> None:
    bench = Linked()
    bench.link()
    bench.lose()
    bench.sequencer.writeCallback(LINE, bench.block)
    bench.run()
    assert bench.block.data == 5
    assert bench.mini.types() == ["LD", "ST", "LD"]
    bench.block.data = 7
    bench.link()
    bench.sequencer.writeCallback(LINE, bench.block)
    assert bench.block.data == 17
    assert bench.client.answers[0][3] == [7]


@pytest.mark.parametrize("lost", ["permission", "frame", "monitor"])
def test_what_loses_a_reservation(lost: str) -> None:
    bench = Linked()
    bench.link()
    if lost == "permission":
        bench.cache.visible[LINE].changePermission(AccessPermission.Read_Only)
        assert bench.sequencer.llscCheckMonitor(LINE)
        bench.cache.visible[LINE].changePermission(AccessPermission.Invalid)
    elif lost == "frame":
        del bench.cache.visible[LINE]
    else:
        bench.sequencer.llscClearLocalMonitor()
    assert not bench.sequencer.llscCheckMonitor(LINE)
    bench.sequencer.writeCallback(LINE, bench.block)
    assert bench.client.answers == []


def test_a_missed_eviction_makes_the_store_succeed_with_the_old_value() -> None:
    bench = Linked()
    bench.link()
    bench.block.data = 100  # another processor's, without evictionCallback
    bench.sequencer.writeCallback(LINE, bench.block)
    assert bench.block.data == 15


def test_after_some_failures_it_is_done_on_the_line() -> None:
    bench = Linked()
    for _ in range(LINKED_TRIES):
        bench.link()
        bench.lose()
        bench.sequencer.writeCallback(LINE, bench.block)
        bench.run()
    assert bench.mini.types() == ["LD", "ST"] * LINKED_TRIES + ["ST"]
    bench.sequencer.writeCallback(LINE, bench.block)
    assert bench.block.data == 15


def test_the_controller_may_fail_a_store_conditional_itself() -> None:
    bench = Linked(AtomicWay.CONDITIONAL)
    bench.link()
    bench.sequencer.writeCallbackScFail(LINE, bench.block)
    bench.run()
    assert bench.mini.types() == ["LD", "Store_Conditional", "LD"]
    with pytest.raises(ProtocolError, match="writeCallbackScFail"):
        bench.sequencer.writeCallbackScFail(LINE, bench.block)


def test_what_follows_waits_for_the_store_conditional() -> None:
    bench = Linked()
    bench.issue(LOAD, [LINE], tag=1)
    bench.issue(STORE, [LINE + 4], values=[3], tag=2)
    bench.link()
    assert bench.client.answers == []
    bench.sequencer.writeCallback(LINE, bench.block)
    assert [answer[:2] for answer in bench.client.answers] == [
        ("atomic", 0),
        ("loaded", 1),
        ("stored", 2),
        ("completed", 2),
    ]
    assert bench.client.answers[1][4] == [15]


def test_behind_a_store_the_load_linked_is_served_and_the_rest_sent() -> None:
    bench = Bench(FakeCache(LINE), atomics=AtomicWay.LINKED)
    bench.issue(STORE, [LINE], values=[1], tag=1)
    bench.issue(ATOMIC, [LINE], values=[10], tag=2)
    bench.run()
    block = DataBlock()
    bench.sequencer.writeCallback(LINE, block)
    bench.run()
    assert bench.mini.types() == ["ST", "ST"]
    bench.sequencer.writeCallback(LINE, block)
    assert block.data == 11


@pytest.mark.parametrize("returns", [True, False])
def test_a_far_operation_travels_and_leaves_the_line_alone(returns: bool) -> None:
    bench = Bench(atomics=AtomicWay.FAR)
    bench.issue(ATOMIC, [LINE + 8], values=[7], op=AtomicKind.EXCHANGE, returns=returns)
    bench.issue(ATOMIC, [LINE + 8], values=[9], op=AtomicKind.EXCHANGE, tag=1)
    bench.run()
    (message,) = bench.mini.received
    assert bench.mini.types() == ["ATOMIC_RETURN" if returns else "ATOMIC_NO_RETURN"]
    assert mask_bytes(message.writeMask) == [8, 9, 10, 11]
    before = DataBlock(0xABC << 64)
    after = DataBlock(0xABC << 64)
    after.atomicPartial(after, message.writeMask)
    assert after.data == 7 << 64
    bench.sequencer.atomicCallback(LINE, before)
    bench.run()
    assert bench.client.answers[0][3] == ([0xABC] if returns else [])
    assert bench.mini.types()[1:] == ["ATOMIC_RETURN"]
    with pytest.raises(ProtocolError) as caught:
        bench.sequencer.writeCallback(LINE, before)
    assert caught.value.kind is ErrorKind.BAD_CALLBACK


def test_a_store_does_not_serve_a_far_operation() -> None:
    bench = Bench(atomics=AtomicWay.FAR)
    bench.issue(STORE, [LINE], values=[1], tag=1)
    bench.issue(ATOMIC, [LINE], values=[10], tag=2)
    bench.run()
    bench.sequencer.writeCallback(LINE, DataBlock())
    bench.run()
    assert [answer[1] for answer in bench.client.answers] == [1, 1]
    assert bench.mini.types() == ["ST", "ATOMIC_RETURN"]
