"""Caches, tables, directories and memory of the native core do what the Python runtime does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.native.system import zeroed_block
from runtime.network.network import Topology
from runtime.prng import Prng, hash64
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.main_memory import Memory
from runtime.structures.tbe_table import TBETable
from runtime.types.messages import MachineType, MemoryMsg, MemoryRequestType
from runtime.types.values import DataBlock
from tests.runtime.native.core_twin import RECORDS, Shape, call, library, plan_words, result_of

ROOM = (64, 256, 0, 64, 64, 64, 0, 64, 0, 64, 64)
LRU, TREE = "lru", "tree_plru"
CACHES = [
    # sets, ways, start bit, policy, resource stalls, tag and data latency, banks, atomic units
    (4, 4, 6, TREE, False, 1, 1, 1, 1, 0, 1),
    (3, 5, 6, LRU, False, 1, 1, 1, 1, 0, 1),
    (1, 8, 6, TREE, True, 2, 3, 2, 3, 2, 4),
    (8, 1, 7, LRU, True, 1, 0, 4, 1, 1, 2),
    (2, 128, 6, TREE, False, 1, 1, 1, 1, 0, 1),
    (2, 64, 6, TREE, False, 1, 1, 1, 1, 0, 1),
]
SHAPE = Shape(3, 1, (0,) * 6, (False,) * 6, (0,) * 3, (False,) * 3, "nominal", 1, 99)


class Native:
    def __init__(self) -> None:
        self.lib = library("core_driver.cpp")
        caches = [
            [
                0,
                sets,
                ways,
                start,
                int(policy == TREE),
                int(stalls),
                tag,
                data,
                tags,
                datas,
                alus,
                alu,
            ]
            for sets, ways, start, policy, stalls, tag, data, tags, datas, alus, alu in CACHES
        ]
        words = plan_words(SHAPE, ROOM, caches)
        size = call(self.lib, "t_size", words, len(words))
        self.block = zeroed_block(size)
        assert call(self.lib, "t_start", self.block, size, words, len(words))

    def __call__(self, name: str, *arguments: object) -> int:
        return call(self.lib, name, self.block, *arguments)

    def agree(self, python: Callable[[], Any], name: str, *arguments: object) -> None:
        """Both give the same result, or the same verdict."""
        wanted, verdict = result_of(python)
        found = self(name, *arguments)
        assert self("t_mistake") == verdict, (name, arguments)
        if wanted is not None:
            assert found == int(wanted), (name, arguments)


class Entry(AbstractCacheEntry):
    pass


def _cache(number: int, now: Callable[[], int]) -> CacheMemory[Entry]:
    sets, ways, start, policy, stalls, tag, data, tags, datas, alus, alu = CACHES[number]
    return CacheMemory(
        f"cache{number}",
        sets,
        ways,
        6,
        policy,
        start,
        tag_latency=tag,
        data_latency=data,
        resource_stalls=stalls,
        tag_banks=tags,
        data_banks=datas,
        alus=alus,
        alu_latency=alu,
        now=now,
    )


def _address_of(entry: Entry | None) -> int:
    return 0 if entry is None else entry.address + 1


def _change(entry: Entry | None, permission: int) -> bool:
    if entry is not None:
        entry.changePermission(permission)
    return entry is not None


def _cache_operations(
    cache: CacheMemory[Entry], line: int, address: int, value: int
) -> list[Callable[[], Any]]:
    return [
        lambda: cache.allocateVoid(address, None if value == 77 else Entry()),  # type: ignore[arg-type]
        lambda: cache.deallocate(address),
        lambda: _address_of(cache.lookup(address)),
        lambda: cache.isTagPresent(address),
        lambda: cache.cacheAvail(address),
        lambda: cache.cacheProbe(address),
        lambda: cache.setMRU(address),
        lambda: cache.setMRU_entry(cache.lookup(line)),
        lambda: _change(cache.lookup(line), value % 8),
        lambda: cache.getAddressAtIdx(value),
        lambda: cache.recordRequestType(value % 5, address),
        lambda: cache.checkResourceAvailable(value % 3, address),
    ]


@pytest.mark.parametrize("number", range(len(CACHES)))
def test_caches(number: int) -> None:
    for seed in range(4):
        prng = Prng(seed).fork("caches")
        native = Native()
        clock = [0]
        cache = _cache(number, lambda clock=clock: clock[0])  # type: ignore[misc]
        frames = cache.sets * cache.ways
        for _ in range(1500):
            line = prng.below(min(3 * frames, 200)) * 64
            address = line + (prng.below(64) if prng.below(30) == 0 else 0)
            value = prng.below(100)
            clock[0] += prng.below(3) == 0
            native("t_tick", clock[0])
            operations = _cache_operations(cache, line, address, value)
            op = (0, 0, 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11)[prng.below(15)]
            if op == 10 and prng.below(3):
                kind = (value % 5) // 2
                if not cache.checkResourceAvailable(kind, address):
                    continue
            native.agree(operations[op], "t_cache", op, number, address, value)
            hidden = prng.below(frames)
            if prng.below(10) == 0:
                held = cache._sets[hidden // cache.ways][hidden % cache.ways]
                permission = prng.below(8)
                if held is not None and held.permission == 6:
                    held.changePermission(permission)
                    native("t_show", number, hidden, permission)
            if prng.below(5) == 0:
                native("t_end_wakeup")
        lines = np.zeros(frames, np.uint64)
        count = native("t_lines", number, lines, frames)
        assert lines[:count].tolist() == sorted(cache.visible)


class Record:
    address = 0
    value = 0


def _table_operations(
    table: TBETable[Record], address: int, number: int
) -> list[Callable[[], Any]]:
    def allocate() -> None:
        table.allocate(address).value = number

    def lookup() -> int:
        record = table.lookup(address)
        return 0 if record is None else record.value + 1

    return [
        allocate,
        lambda: table.deallocate(address),
        lookup,
        lambda: table.isPresent(address),
        lambda: table.areNSlotsAvailable(number),
    ]


def test_tables() -> None:
    for seed in range(5):
        prng = Prng(seed).fork("tables")
        native = Native()
        tables = [TBETable(Record, RECORDS) for _ in range(3)]
        for step in range(600):
            which = prng.below(3)
            address, number = prng.below(12) * 64, prng.below(9)
            operations = _table_operations(tables[which], address, number)
            op = prng.below(len(operations))
            native.agree(operations[op], "t_records", op, which, address, number)
            if step % 3 == 0:
                native("t_end_wakeup")


def test_directories() -> None:
    topology = Topology({MachineType.Cache: 3})
    topology.interleave(MachineType.Cache)
    for seed in range(3):
        prng = Prng(seed).fork("directories")
        native = Native()
        directories: list[DirectoryMemory[Entry]] = [
            DirectoryMemory(
                f"directory{i}",
                lambda address, i=i: topology.owns(topology.nodes[i], address),  # type: ignore[misc]
            )
            for i in range(3)
        ]
        for _ in range(500):
            which, address = prng.below(3), prng.below(20 * 64)
            d = directories[which]
            operations: list[Callable[[], Any]] = [
                lambda d=d, address=address: d.allocate(address, Entry()) and None,
                lambda d=d, address=address: d.deallocate(address),
                lambda d=d, address=address: _address_of(d.lookup(address)),
                lambda d=d, address=address: d.isPresent(address),
            ]
            op = prng.below(len(operations))
            native.agree(operations[op], "t_directory", op, which, address)
            native("t_end_wakeup")


def test_memory() -> None:
    memory = Memory(SHAPE.run_key)
    native = Native()
    prng = Prng(1)
    node = Topology({MachineType.Cache: 3}).nodes[0]
    for _ in range(500):
        request = MemoryMsg()
        request.addr = prng.below(8) * 64 + (prng.below(64) if prng.below(2) else 0)
        request.Type = prng.below(3)
        request.Len = prng.below(70) - 2 if prng.below(2) else 0
        data = np.frombuffer(
            b"".join(prng.bits64().to_bytes(8, "little") for _ in range(8)), np.uint64
        ).copy()
        request.DataBlk = DataBlock(int.from_bytes(data.tobytes(), "little"))
        answers: list[MemoryMsg] = []

        def access(request: MemoryMsg = request, answers: list[MemoryMsg] = answers) -> int:
            answers.append(memory.access(request, node))
            return answers[0].Type << 8 | answers[0].MessageSize

        kind, address, length = request.Type, request.addr, request.Len
        native.agree(access, "t_memory", kind, address, length, data)
        if answers and kind == MemoryRequestType.MEMORY_READ:
            assert int.from_bytes(data.tobytes(), "little") == answers[0].DataBlk.data


def test_logs_survive_garbage_collection() -> None:
    rounds = 5000
    logs: list[list[int]] = [[] for _ in range(8)]
    for i in range(rounds):
        log = logs[hash64(i) % 8]
        action = hash64(i, 1) % 4
        if action < 3:
            log.append(i)
        if action == 3 or len(log) > 6:
            log.clear()
    wanted = 0
    for log in logs:
        for value in log:
            wanted = hash64(wanted, value)
    native = Native()
    assert native("t_garbage", rounds) == wanted
    assert native("t_pool") == 0
