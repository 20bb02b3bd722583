"""Caches, replacement, tables, directories, memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.controller.shapes import ControllerContext, InPort, PlainController, PollResult
from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Topology
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory, PerfectCacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.main_memory import Memory, initial_line
from runtime.structures.replacement_policy import make_policy
from runtime.structures.tbe_table import TBETable, TimerTable
from runtime.types.messages import (
    AccessPermission,
    CacheRequestType,
    CacheResourceType,
    MachineType,
    MemoryMsg,
    MemoryRequestType,
    MessageSizeType,
    Packet,
)
from runtime.types.values import DataBlock


class SlowTree:
    """Tree PLRU as a real tree of nested lists: [points right, left, right] or a way."""

    def __init__(self, ways: int) -> None:
        def build(first: int, end: int) -> list[object] | int:
            if end - first == 1:
                return first
            middle = (first + end) // 2
            return [False, build(first, middle), build(middle, end)]

        self.root = build(0, ways)

    def _holds(self, node: object, way: int) -> bool:
        if isinstance(node, list):
            return self._holds(node[1], way) or self._holds(node[2], way)
        return node == way

    def point(self, way: int, towards: bool) -> None:
        node: object = self.root
        while isinstance(node, list):
            right = self._holds(node[2], way)
            node[0] = right == towards
            node = node[2] if right else node[1]

    def victim(self) -> int:
        node: object = self.root
        while isinstance(node, list):
            node = node[2] if node[0] else node[1]
        assert isinstance(node, int)
        return node


@settings(max_examples=80)
@given(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.tuples(st.booleans(), st.integers(0, 15)), max_size=60),
)
def test_tree_plru_is_a_tree(ways: int, operations: list[tuple[bool, int]]) -> None:
    policy = make_policy("tree_plru", 3, ways)
    slow = SlowTree(ways)
    for touch, number in operations:
        way = number % ways
        (policy.touch if touch else policy.invalidate)(1, way)
        slow.point(way, towards=not touch)
        assert policy.victim(1) == slow.victim()
    assert policy.victim(0) == policy.victim(2) == 0


@given(st.integers(1, 6), st.lists(st.integers(0, 5), max_size=40))
def test_lru_gives_up_what_was_touched_longest_ago(ways: int, touches: list[int]) -> None:
    policy = make_policy("lru", 1, ways)
    order = list(range(ways))
    for number in touches:
        way = number % ways
        policy.touch(0, way)
        order.remove(way)
        order.append(way)
        assert policy.victim(0) == order[0]
    policy.invalidate(0, ways - 1)
    untouched = [way for way in range(ways) if way not in {n % ways for n in touches}]
    assert policy.victim(0) == min([*untouched, ways - 1])


def test_policies_refuse_what_they_cannot_do() -> None:
    with pytest.raises(ValueError, match="power of two"):
        make_policy("tree_plru", 4, 3)
    with pytest.raises(ValueError, match="no replacement policy 'fifo'"):
        make_policy("fifo", 4, 4)


Cache = CacheMemory[AbstractCacheEntry]


def filled(sets: int = 2, ways: int = 2, lines: tuple[int, ...] = (), policy: str = "lru") -> Cache:
    cache: Cache = CacheMemory("L1", sets, ways, replacement=policy)
    for line in lines:
        cache.allocate(line * 64, AbstractCacheEntry())
    return cache


def test_an_entry_is_found_until_it_is_deallocated() -> None:
    cache = filled(lines=(4,))
    entry = cache.lookup(256)
    assert (entry.address, entry.permission) == (256, AccessPermission.Invalid)
    assert cache.isTagPresent(256)
    assert cache.lookup(512) is None
    cache.deallocate(256)
    assert cache.lookup(256) is None
    assert not cache.isTagPresent(256)
    assert entry.cache is None


def test_a_full_set_names_its_victim_without_evicting() -> None:
    cache = filled(lines=(0, 2))
    cache.setMRU(0)
    assert not cache.cacheAvail(4 * 64)
    assert cache.cacheAvail(0)
    assert cache.cacheAvail(64)
    assert [cache.cacheProbe(4 * 64) for _ in range(3)] == [128] * 3
    cache.setMRU_entry(cache.lookup(128))
    assert cache.cacheProbe(4 * 64) == 0
    cache.deallocate(0)
    assert cache.cacheAvail(4 * 64)
    cache.allocate(4 * 64, AbstractCacheEntry())
    assert [entry.address for entry in cache.entries()] == [256, 128]


def test_an_entry_that_is_not_present_is_hidden_and_its_way_is_free() -> None:
    cache = filled(sets=1, lines=(0, 1))
    entry = cache.lookup(0)
    entry.locked_by = 3
    entry.changePermission(AccessPermission.NotPresent)
    assert entry.locked_by == -1
    assert cache.lookup(0) is None
    assert cache.cacheAvail(512)
    entry.changePermission(AccessPermission.Read_Only)
    assert cache.lookup(0) is entry
    assert not cache.cacheAvail(512)
    entry.changePermission(AccessPermission.NotPresent)
    new = cache.allocate(512, AbstractCacheEntry())
    assert new.way == 0
    assert cache.lookup(0) is None
    assert entry.cache is None
    assert not cache.cacheAvail(1024)


lines = st.integers(0, 11)


@settings(max_examples=80)
@given(
    st.sampled_from([(1, 2), (2, 2), (4, 4), (3, 1)]),
    st.lists(st.tuples(st.sampled_from(["allocate", "free", "touch", "hide"]), lines), max_size=50),
)
def test_a_cache_is_a_dictionary_with_a_limit(
    shape: tuple[int, int], operations: list[tuple[str, int]]
) -> None:
    sets, ways = shape
    cache = filled(sets, ways)
    model: dict[int, AbstractCacheEntry] = {}
    for name, line in operations:
        address = 64 * line
        used = sum(1 for other in model if other // 64 % sets == line % sets)
        assert cache.cacheAvail(address) == (address in model or used < ways)
        if name == "allocate" and address not in model:
            if used == ways:
                victim = cache.cacheProbe(address)
                assert victim // 64 % sets == line % sets
                cache.deallocate(victim)
                del model[victim]
            model[address] = cache.allocate(address, AbstractCacheEntry())
        elif name == "free" and address in model:
            cache.deallocate(address)
            del model[address]
        elif name == "hide" and address in model:
            model.pop(address).changePermission(AccessPermission.NotPresent)
        else:
            cache.setMRU(address + 5)
        assert {entry.address: entry for entry in cache.entries()} == model
        assert dict(cache.visible) == model


def test_misuse_of_a_cache_is_a_verdict() -> None:
    def kind_of(call: object) -> ErrorKind:
        with pytest.raises(ProtocolError) as caught:
            call()  # type: ignore[operator]
        return caught.value.kind

    cache = filled(sets=1, lines=(0,))
    null: AbstractCacheEntry = None  # type: ignore[assignment]
    assert kind_of(lambda: cache.lookup(3)) is ErrorKind.MISALIGNED
    assert kind_of(lambda: cache.cacheAvail(3)) is ErrorKind.MISALIGNED
    assert kind_of(lambda: cache.allocate(3, AbstractCacheEntry())) is ErrorKind.MISALIGNED
    assert kind_of(lambda: cache.allocate(0, AbstractCacheEntry())) is ErrorKind.ALREADY_ALLOCATED
    assert kind_of(lambda: cache.deallocate(64)) is ErrorKind.NOT_ALLOCATED
    assert kind_of(lambda: cache.cacheProbe(64)) is ErrorKind.ASSERTION
    assert kind_of(lambda: cache.setMRU_entry(null)) is ErrorKind.NULL_DEREFERENCE
    assert kind_of(lambda: cache.allocate(64, null)) is ErrorKind.NULL_DEREFERENCE
    cache.allocate(64, AbstractCacheEntry())
    assert kind_of(lambda: cache.allocate(128, AbstractCacheEntry())) is ErrorKind.TABLE_FULL


def test_busy_banks() -> None:
    now = [10]
    cache: Cache = CacheMemory(
        "L2",
        4,
        2,
        resource_stalls=True,
        tag_banks=2,
        data_banks=1,
        tag_latency=3,
        data_latency=1,
        alus=1,
        alu_latency=4,
        now=lambda: now[0],
    )
    tag, data, alu = CacheResourceType.TagArray, CacheResourceType.DataArray, 2
    assert cache.checkResourceAvailable(tag, 0)
    cache.recordRequestType(CacheRequestType.TagArrayRead, 0)
    cache.recordRequestType(CacheRequestType.TagArrayWrite, 0)
    assert not cache.checkResourceAvailable(tag, 2 * 64)
    assert cache.checkResourceAvailable(tag, 64)
    assert cache.checkResourceAvailable(data, 0)
    with pytest.raises(ProtocolError) as caught:
        cache.recordRequestType(CacheRequestType.TagArrayRead, 2 * 64)
    assert caught.value.kind is ErrorKind.BANK_CONFLICT
    now[0] = 12
    assert not cache.checkResourceAvailable(tag, 0)
    now[0] = 13
    assert cache.checkResourceAvailable(tag, 0)
    cache.recordRequestType(CacheRequestType.AtomicALUOperation, 0)
    now[0] = 17
    assert not cache.checkResourceAvailable(alu, 0)
    assert cache.checkResourceAvailable(alu, 64)
    now[0] = 18
    assert cache.checkResourceAvailable(alu, 0)
    assert cache.counts == [0, 0, 2, 1, 1]


def test_frames_and_transactions() -> None:
    cache = filled(sets=2, ways=2, lines=(5, 2))
    cache.lookup(5 * 64).changePermission(AccessPermission.Read_Only)
    assert [cache.getAddressAtIdx(n) for n in range(4)] == [0, 0, 320, 0]
    assert (cache.getNumBlocks(), cache.getCacheSize()) == (4, 256)
    entry = cache.lookup(128)
    entry.setInHtmWriteSet(True)
    entry.locked_by = 1
    cache.htmCommitTransaction()
    assert (entry.getInHtmWriteSet(), entry.locked_by) == (False, -1)


class Record:
    def __init__(self) -> None:
        self.address = -1


def test_a_table_of_records() -> None:
    table: TBETable[Record] = TBETable(Record, 2, "TBEs")
    table.allocate(64)
    record = table.lookup(64)
    assert (record.address, table.isPresent(64)) == (64, True)
    assert table.lookup(0) is None
    assert table.areNSlotsAvailable(1)
    assert not table.areNSlotsAvailable(2)
    table.allocate(0)
    for address, kind in ((64, ErrorKind.ALREADY_ALLOCATED), (128, ErrorKind.TABLE_FULL)):
        with pytest.raises(ProtocolError, match="TBEs") as caught:
            table.allocate(address)
        assert caught.value.kind is kind
    assert [record.address for record in table] == [64, 0]
    table.deallocate(64)
    assert table.lookup(64) is None
    with pytest.raises(ProtocolError) as caught:
        table.deallocate(64)
    assert caught.value.kind is ErrorKind.NOT_ALLOCATED


class Alarm(Consumer):
    __slots__ = ("rung", "timers")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.timers = TimerTable("timers")
        self.timers.set_consumer(self)
        self.rung: list[tuple[int, int]] = []

    def wakeup(self) -> None:
        while self.timers.isReady():
            address = self.timers.nextAddress()
            self.rung.append((self.engine.now, address))
            self.timers.unset(address)


def test_timers_ring_by_time_then_address() -> None:
    alarm = Alarm(Engine())
    for address, tick in ((128, 7), (64, 7), (0, 9), (192, 3), (256, 5)):
        alarm.timers.set(address, tick)
    alarm.timers.unset(256)
    assert alarm.timers.isSet(0)
    assert not alarm.timers.isSet(256)
    alarm.engine.run()
    assert alarm.rung == [(3, 192), (7, 64), (7, 128), (9, 0)]
    with pytest.raises(ProtocolError):
        alarm.timers.unset(0)
    with pytest.raises(ProtocolError):
        alarm.timers.nextAddress()


def test_a_perfect_cache_makes_what_it_does_not_find() -> None:
    table: PerfectCacheMemory[AbstractCacheEntry] = PerfectCacheMemory(AbstractCacheEntry)
    assert not table.isTagPresent(64)
    entry = table.lookup(64)
    assert table.lookup(64) is entry
    table.allocate(64)
    assert table.lookup(64) is not entry
    table.deallocate(64)
    with pytest.raises(ProtocolError):
        table.deallocate(64)


def test_a_directory_holds_entries_of_its_own_lines() -> None:
    directory: DirectoryMemory[AbstractCacheEntry] = DirectoryMemory(
        "Dir", lambda address: address >> 6 & 1 == 0
    )
    assert directory.lookup(128) is None
    entry = directory.allocate(128, AbstractCacheEntry())
    assert directory.lookup(130) is entry
    assert entry.permission == AccessPermission.Read_Only
    assert [directory.isPresent(address) for address in (0, 64)] == [True, False]
    for call in (directory.lookup, lambda a: directory.allocate(a, AbstractCacheEntry())):
        with pytest.raises(ProtocolError, match="not responsible") as caught:
            call(64)
        assert caught.value.kind is ErrorKind.UNDELIVERABLE
    directory.deallocate(128)
    assert directory.entries() == []


def request(kind: int, address: int, data: int = 0, length: int = 0) -> MemoryMsg:
    message = MemoryMsg()
    message.Type = kind
    message.addr = address
    message.DataBlk = DataBlock(data)
    message.Len = length
    return message


READ, WRITE = MemoryRequestType.MEMORY_READ, MemoryRequestType.MEMORY_WB


def test_memory_reads_and_writes_lines_and_parts_of_lines() -> None:
    memory = Memory(run_key=3)
    machine = Topology({MachineType.Directory: 1}).nodes[0]
    first = initial_line(3, 0x40)
    answer = memory.access(request(READ, 0x40), machine)
    assert (answer.DataBlk.data, answer.Sender) == (first, machine)
    assert answer.MessageSize == MessageSizeType.Response_Data
    memory.access(request(WRITE, 0x44, 0xAABBCCDD << 32, 4), machine)
    assert memory.read_line(0x40) == (first & ~(0xFFFFFFFF << 32)) | 0xAABBCCDD << 32
    assert memory.access(request(READ, 0x44, length=4), machine).DataBlk.read(0, 4) == 0xAABBCCDD
    memory.access(request(WRITE, 0x40, 7), machine)
    assert memory.read_line(0x40) == 7
    packet = Packet(0x41, 2, 0x1234)
    memory.functional_write(packet)
    packet = Packet(0x40, 4)
    memory.functional_read(packet)
    assert packet.data == 0x123407


def test_impossible_memory_requests_are_verdicts() -> None:
    memory = Memory(run_key=3)
    machine = Topology({MachineType.Directory: 1}).nodes[0]
    for bad in (
        request(MemoryRequestType.MEMORY_ACK, 0),
        request(READ, 60, length=8),
        request(WRITE, 0, length=-1),
    ):
        with pytest.raises(ProtocolError) as caught:
            memory.access(bad, machine)
        assert caught.value.kind is ErrorKind.BAD_MEMORY_REQUEST


def test_the_digest_of_memory_does_not_depend_on_the_order_of_writing() -> None:
    one, two = Memory(1), Memory(1)
    for line in (0, 64, 128):
        one.write_line(line, line + 1)
        two.write_line(128 - line, 129 - line)
    assert one.digest() == two.digest()
    two.write_line(64, 0)
    assert one.digest() != two.digest()


@pytest.mark.parametrize("byte", [0, 7, 8, 40, 63])
def test_the_digest_of_memory_covers_every_byte(byte: int) -> None:
    one, two = Memory(1), Memory(1)
    one.write_line(64, 5 << 8 * byte)
    two.write_line(64, 6 << 8 * byte)
    assert one.digest() != two.digest()


class Librarian(PlainController):
    """A controller that only has a memory port."""

    MACHINE = "Directory"
    MACHINE_TYPE = MachineType.Directory

    def __init__(self, context: ControllerContext, eager: bool) -> None:
        super().__init__(context)
        self.requests: MessageBuffer = context.parameter("requestToMemory", MessageBuffer)
        self.responses: MessageBuffer = context.parameter("responseFromMemory", MessageBuffer)
        self.got: list[tuple[int, int]] = []
        self.eager = eager
        self.bind((InPort("memQueue_in", self.responses, self.poll, guarded=True),), {})
        self.connect_memory(self.requests)

    def poll(self) -> PollResult:
        if not self.eager and self.engine.now % 10:
            self.scheduleEvent(1)
            return False
        self.got.append((self.engine.now, self.responses.peek(MemoryMsg).addr))
        self.dequeueMemRespQueue()
        return True


def serve(capacity: int, eager: bool) -> Librarian:
    engine = Engine()
    topology = Topology({MachineType.Directory: 1})
    parameters = {
        "requestToMemory": MessageBuffer("requests", engine=engine),
        "responseFromMemory": MessageBuffer("responses", capacity, engine=engine),
    }
    memory = Memory(run_key=3, latency=5)
    context = ControllerContext(engine, topology, 0, parameters, memory)
    librarian = Librarian(context, eager)
    for line in range(3):
        librarian.requests.enqueue(request(READ, 64 * line), 1)
    packet = Packet(64, 4)
    librarian.functionalMemoryRead(packet)
    assert packet.data == initial_line(3, 64) & 0xFFFFFFFF
    engine.run()
    return librarian


def test_memory_takes_one_request_per_cycle_and_answers_after_its_latency() -> None:
    assert serve(0, eager=True).got == [(7, 0), (8, 64), (9, 128)]


def test_a_full_response_queue_makes_memory_wait() -> None:
    # Answers are ready at 6, 7 and 8; there is room for one, taken every tenth tick.
    assert serve(1, eager=False).got == [(10, 0), (20, 64), (30, 128)]


def test_a_second_allocation_says_that_the_first_one_is_still_there() -> None:
    """ "TBEs has 0x40" was all that a report said of a record that had not been freed."""
    table = TBETable(AbstractCacheEntry, 4, "TBEs")
    table.allocate(0x40)
    with pytest.raises(ProtocolError, match=r"TBEs already has an entry for 0x40"):
        table.allocate(0x40)
