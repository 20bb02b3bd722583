"""Timers, persistent tables and perfect caches do in C++ what they do in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.network.network import Topology
from runtime.prng import Prng
from runtime.sim.engine import Consumer, Engine
from runtime.structures.cache_memory import PerfectCacheMemory
from runtime.structures.persistent_table import PersistentTable
from runtime.structures.tbe_table import TimerTable
from runtime.types.messages import MachineType
from tests.runtime.native.test_core_storage import Native


class Idle(Consumer):
    def wakeup(self) -> None:
        pass


def test_timers() -> None:
    for seed in range(6):
        prng = Prng(seed).fork("timers")
        native = Native()
        engine = Engine()
        timers = [TimerTable() for _ in range(6)]
        for timer in timers:
            timer.set_consumer(Idle(engine))
        ready = 0
        for _ in range(800):
            which, address = prng.below(6), prng.below(12) * 64
            tick = engine.now + prng.below(40)
            engine.now += prng.below(3)
            native("t_tick", engine.now)
            t = timers[which]
            operations: list[Callable[[], Any]] = [
                lambda t=t, address=address, tick=tick: t.set(address, tick),
                lambda t=t, address=address: t.unset(address),
                lambda t=t, address=address: t.isSet(address),
                t.isReady,
                t.nextAddress,
                t.isEmpty,
            ]
            op = (0, 0, 1, 2, 3, 4, 5)[prng.below(7)]
            ready += op == 3 and t.isReady()
            native.agree(operations[op], "t_timer", op, which, address, tick)
        assert ready


def test_the_earliest_alarm_is_the_lowest_address_of_its_tick() -> None:
    native = Native()
    for address in (0x300, 0x100, 0x200):
        native("t_timer", 0, 0, address, 50)
    native("t_timer", 0, 0, 0x400, 49)
    found = []
    for _ in range(4):
        found.append(native("t_timer", 4, 0, 0, 0))
        native("t_timer", 1, 0, found[-1], 0)
    assert found == [0x400, 0x100, 0x200, 0x300]


def test_persistent_tables() -> None:
    topology = Topology({MachineType.Cache: 3})
    for seed in range(6):
        prng = Prng(seed).fork("persistent")
        native = Native()
        tables = [PersistentTable() for _ in range(3)]
        for _ in range(900):
            which, address = prng.below(3), prng.below(3) * 64
            number, kind = prng.below(16 if prng.below(20) == 0 else 3), prng.below(2)
            t, machine = tables[which], topology.machine_id(MachineType.Cache, number)
            operations: list[Callable[[], Any]] = [
                lambda t=t, a=address, m=machine, k=kind: t.persistentRequestLock(a, m, k),
                lambda t=t, a=address, m=machine: t.persistentRequestUnlock(a, m),
                lambda t=t, a=address, m=machine: t.okToIssueStarving(a, m),
                lambda t=t, a=address: t.findSmallest(a).num,
                lambda t=t, a=address: t.typeOfSmallest(a),
                lambda t=t, a=address: t.markEntries(a),
                lambda t=t, a=address: t.isLocked(a),
                lambda t=t, a=address: t.countStarvingForAddress(a),
                lambda t=t, a=address: t.countReadStarvingForAddress(a),
            ]
            op = prng.below(len(operations))
            native.agree(operations[op], "t_persistent", op, which, address, number, kind)


class Record:
    def __init__(self) -> None:
        self.value = 0


def test_perfect_caches() -> None:
    for seed in range(4):
        prng = Prng(seed).fork("perfect")
        native = Native()
        caches = [PerfectCacheMemory(Record) for _ in range(3)]
        for _ in range(600):
            which, address, value = prng.below(3), prng.below(8) * 64, 1 + prng.below(99)
            cache = caches[which]

            def allocate(
                cache: PerfectCacheMemory[Record] = cache, a: int = address, v: int = value
            ) -> None:
                cache.allocate(a)
                cache.lookup(a).value = v

            def exchange(
                cache: PerfectCacheMemory[Record] = cache, a: int = address, v: int = value
            ) -> int:
                record = cache.lookup(a)
                found, record.value = record.value, v
                return found

            operations: list[Callable[[], Any]] = [
                allocate,
                lambda cache=cache, a=address: cache.deallocate(a),
                lambda cache=cache, a=address: cache.isTagPresent(a),
                exchange,
            ]
            op = prng.below(len(operations))
            native.agree(operations[op], "t_perfect", op, which, address, value)
            native("t_end_wakeup")
        assert native("t_entries") == sum(len(cache.records) for cache in caches)
