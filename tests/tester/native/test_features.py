"""Small protocols around classes of the library run alike on both engines.

What needs no states of its own is in one protocol, compiled once: its parameter ``which`` selects
what is done when a line is filled, loaded and stored to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.native.plan import Capacities
from tester.native import leg as native_leg
from tests.runtime.native.composed import compare, plans_of
from tests.tester.native.solo import QUEUES, TIMER, check, load, run


@dataclass(frozen=True)
class Use:
    """Statements around the class. ``verdict``: what every leg ends in, if it is not to pass."""

    fill: str = ""
    load: str = ""
    store: str = ""
    verdict: str = ""


LIBRARY = {
    "parameters": "int which := 0; CacheMemory * marks;",
    "types": """
      structure(PersistentTable, external="yes") {
        void persistentRequestLock(Addr, MachineID, AccessType);
        void persistentRequestUnlock(Addr, MachineID);
        bool okToIssueStarving(Addr, MachineID); MachineID findSmallest(Addr);
        AccessType typeOfSmallest(Addr); void markEntries(Addr); bool isLocked(Addr);
        int countStarvingForAddress(Addr); int countReadStarvingForAddress(Addr); }
      structure(Sheet, interface="AbstractCacheEntry", main="false") { int uses, default="7"; }
      structure(PerfectCacheMemory, external="yes") {
        void allocate(Addr); void deallocate(Addr); Sheet lookup(Addr); bool isTagPresent(Addr); }
      structure(BoolVec, external="yes") {
        bool at(int), return_by_ref="yes"; void clear(); void resize(int); int size(); }""",
    "entry": """
      int seen; int stores; BoolVec flags; Set numbers;
      void setInHtmReadSet(bool), external="yes"; bool getInHtmReadSet(), external="yes";
      void setInHtmWriteSet(bool), external="yes"; bool getInHtmWriteSet(), external="yes";
      void invalidateEntry() { stores := 0; }""",
    "objects": """
      PersistentTable table; PerfectCacheMemory sheets, template="<L1Cache_Sheet>";""",
    "functions": """
      int countBoolVec(BoolVec v); NodeID intToID(int v);
      Sheet getSheet(Addr a), return_by_pointer="yes" { return sheets.lookup(a); }
      Entry getMark(Addr a), return_by_pointer="yes" {
        return static_cast(Entry, "pointer", marks.lookup(a)); }""",
}
USES = {
    "nothing at all": Use(),
    # Loads starve until a store comes, and what they find out is kept in the line.
    "a persistent table": Use(
        load="""
          bool free := table.isLocked(address) == false;
          assert(table.okToIssueStarving(address, machineID) == free);
          if (free) {
            table.persistentRequestLock(address, machineID, AccessType:Write);
            assert(table.typeOfSmallest(address) == AccessType:Write);
            assert(table.findSmallest(address) == machineID);
            assert(table.countReadStarvingForAddress(address) == 0);
            table.markEntries(address); }
          cache_entry.seen := table.countStarvingForAddress(address);""",
        store="""
          if (table.isLocked(address)) {
            assert(cache_entry.seen == 1);
            table.persistentRequestUnlock(address, machineID); }""",
    ),
    "findSmallest of an empty table": Use(
        fill="assert(table.findSmallest(address) == machineID);", verdict="not_allocated"
    ),
    "typeOfSmallest of an empty table": Use(
        fill="assert(table.typeOfSmallest(address) == AccessType:Read);", verdict="not_allocated"
    ),
    # Uses of a line are counted in a sheet of its own, which every third store throws away.
    "a perfect cache": Use(
        load="""
          Sheet sheet := getSheet(address);
          assert(sheet.uses >= 7);
          sheet.uses := sheet.uses + 1;
          assert(sheets.isTagPresent(address));""",
        store="""
          getSheet(address).uses := getSheet(address).uses + 1;
          if (sheets.lookup(address).uses > 9) {
            sheets.deallocate(address);
            assert(sheets.isTagPresent(address) == false);
            sheets.allocate(address);
            assert(getSheet(address).uses == 7); }""",
    ),
    # Stores are counted in a cache of marks. The fourth store of any line aborts: what was
    # written in the transaction starts again. Loads of lines with two stores commit.
    "transactions in a cache": Use(
        load="""
          if (is_valid(getMark(address)) && getMark(address).stores == 2) {
            getMark(address).setInHtmReadSet(true);
            marks.htmCommitTransaction();
            assert(getMark(address).getInHtmReadSet() == false);
            assert(getMark(address).getInHtmWriteSet() == false);
            assert(getMark(address).stores == 2); }""",
        store="""
          if (marks.isTagPresent(address) == false && marks.cacheAvail(address)) {
            marks.allocateVoid(address, new Entry); }
          Entry mark := getMark(address);
          if (is_valid(mark)) {
            mark.changePermission(AccessPermission:Read_Write);
            mark.setInHtmWriteSet(true);
            mark.stores := mark.stores + 1;
            if (mark.stores == 4) {
              marks.htmAbortTransaction();
              assert(mark.stores == 0); } }""",
    ),
    # Stores are noted in flags and sets of the line, which grow and start again.
    "flags and large sets": Use(
        fill="cache_entry.flags.resize(3); cache_entry.numbers.setSize(900);",
        store="""
          int size := cache_entry.flags.size();
          cache_entry.flags.at(size - 1) := true;
          cache_entry.numbers.add(intToID(size * 7));
          cache_entry.flags.resize(size + 1);
          if (size > 70) {
            assert(countBoolVec(cache_entry.flags) == size - 2);
            cache_entry.flags.resize(3); cache_entry.flags.at(2) := false;
            cache_entry.numbers.clear(); }""",
        load="""
          int length := cache_entry.flags.size();
          assert(cache_entry.flags.at(length - 1) == false);
          assert(cache_entry.numbers.count() == countBoolVec(cache_entry.flags) || length == 3);
          BoolVec copy := cache_entry.flags;
          copy.at(0) := copy.at(0) == false;
          assert(copy.at(0) != cache_entry.flags.at(0));""",
    ),
    "a flag beyond the end": Use(
        fill="cache_entry.flags.resize(3); cache_entry.flags.at(3) := true;", verdict="index_range"
    ),
    "too many flags": Use(fill="cache_entry.flags.resize(1025);", verdict="index_range"),
    "too large a set": Use(fill="cache_entry.numbers.setSize(1025);", verdict="index_range"),
    "a load empties the line": Use(load="cache_entry.DataBlk.clear();"),
}
NUMBERS = {name: number for number, name in enumerate(USES)}


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedProtocol]:
    """All of them; each action has a branch for each use."""
    bodies = {
        "on_fill": [(n, use.fill) for n, use in enumerate(USES.values())],
        "on_load": [(n, use.load) for n, use in enumerate(USES.values())],
        "on_store": [(n, use.store) for n, use in enumerate(USES.values())],
    }
    actions = ""
    for hook, branches in bodies.items():
        text = " ".join(f"if (which == {n}) {{ {body} }}" for n, body in branches if body)
        actions += f'action(u_{hook}, "{hook}") {{ {text} }}'
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield load(
            tmp_path_factory.mktemp("uses"),
            monkeypatch,
            **LIBRARY,
            actions=actions,
            **{hook: f"u_{hook};" for hook in bodies},
        )


@pytest.mark.parametrize("use", [use for use in USES if use != "a load empties the line"])
def test_uses_of_the_library(use: str, uses: LoadedProtocol) -> None:
    verdict = USES[use].verdict
    run(uses, [] if verdict else ["Load", "Store", "Filled"], verdict, which=NUMBERS[use])


def test_values_that_mean_nothing(uses: LoadedProtocol) -> None:
    """Answers of a protocol that stores nothing are counted, their values are not checked."""
    which = NUMBERS["a load empties the line"]
    with pytest.raises(AssertionError, match=r"wrong|stale|foreign|lost"):
        run(uses, [], which=which)
    blind = replace(
        uses,
        written=structs.replace(uses.written, values=False),
        description=structs.replace(uses.description, values=False),
    )
    for summary in run(blind, ["Load", "Store"], which=which):
        assert summary.episodes == 60
        assert not summary.flushed


ALARMS = {
    **TIMER,
    "parameters": "bool twice := false;",
    "objects": "TimerTable timer;",
    "functions": "Cycles intToCycles(int c);",
    "on_store": "t_set;",
    "actions": """
      action(t_set, "t") {
        assert(timer.isSet(address) == false);
        timer.set(address, clockEdge() + cyclesToTicks(intToCycles(30)));
        if (twice) { timer.set(address, clockEdge()); } }
      action(u_unset, "u") { timer.unset(address); wakeUpAllBuffers(address); }""",
}


def test_timers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that was stored to is left alone until its alarm rings. Then it is set twice."""
    protocol = load(tmp_path, monkeypatch, **ALARMS)
    run(protocol, ["Ring"])
    run(protocol, [], "already_allocated", twice=True)


@pytest.mark.slow
def test_more_ports_than_bits_of_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store sends a message through each of nine queues; they are taken in turn, and those that
    come too early wait for the line: 110 pairs of a rank and a queue."""
    count = 9
    queues = range(count)
    check(
        tmp_path,
        monkeypatch,
        [f"Pass{i}" for i in queues],
        parameters=" ".join(f"MessageBuffer * queue{i};" for i in queues),
        events=" ".join(f"Pass{i};" for i in queues),
        states=" ".join(f"Q{i}, AccessPermission:Busy;" for i in queues),
        ports=" ".join(
            f"""
            out_port(out{i}, MemoryMsg, queue{i});
            in_port(in{i}, MemoryMsg, queue{i}, rank={i + 2}) {{
              if (in{i}.isReady(clockEdge())) {{ peek(in{i}, MemoryMsg) {{
                trigger(Event:Pass{i}, in_msg.addr, getEntry(in_msg.addr), TBEs[in_msg.addr]);
              }} }} }}"""
            for i in queues
        ),
        after_store=", Q0",
        on_store=" ".join(f"e_enter{i};" for i in queues),
        actions=" ".join(
            f"""
            action(e_enter{i}, "e{i}") {{
              enqueue(out{i}, MemoryMsg, {1 + i % 3}) {{ out_msg.addr := address;
                out_msg.MessageSize := MessageSizeType:Request_Control; }} }}
            action(w_wait{i}, "w{i}") {{ stall_and_wait(in{i}, address); }}
            action(p_pass{i}, "p{i}") {{
              in{i}.dequeue(clockEdge());
              {"wakeUpBuffers(address);" if i % 2 else ""} wakeUpAllBuffers(address); }}"""
            for i in queues
        ),
        transitions=" ".join(
            f"""
            transition(Q{i}, Pass{i}, {f"Q{i + 1}" if i + 1 < count else "V"}) {{ p_pass{i}; }}
            transition(Q{i}, {{Load, Store}}) {{ z_wait; }}"""
            + " ".join(f"transition(Q{i}, Pass{j}) {{ w_wait{j}; }}" for j in queues if j != i)
            for i in queues
        ),
    )


@pytest.mark.slow
def test_queues_of_events_in_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store is followed by a list of steps, each its own transition of the same tick, and by
    messages that are expected in two parts; its slot is taken before and given back after."""
    check(tmp_path, monkeypatch, ["StepA", "StepB", "Arrive"], **QUEUES)


def test_a_pool_that_is_too_small_for_queues_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items without a reference are collected; a pool still too small is doubled by name."""
    grown: list[str] = []

    def doubled(self: Capacities, pool: str) -> Capacities:
        grown.append(pool)
        return replace(self, **{pool: 2 * getattr(self, pool)})

    monkeypatch.setattr(native_leg, "Capacities", partial(Capacities, triggers=1))
    monkeypatch.setattr(Capacities, "doubled", doubled)
    check(tmp_path, monkeypatch, ["Arrive"], **QUEUES)
    assert "triggers" in grown


def test_prefetchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every load pretends a row of misses; what the prefetcher asks for comes as messages, and
    each asks for more until the page ends."""
    check(
        tmp_path,
        monkeypatch,
        ["Wanted"],
        parameters="RubyPrefetcher * prefetcher; MessageBuffer * prefetchQueue;",
        events="Wanted;",
        types="""
          structure(RubyPrefetcher, external="yes") {
            void observeMiss(Addr, RubyRequestType); void observePfHit(Addr);
            void observePfMiss(Addr); }""",
        functions="""
          Addr makeNextStrideAddress(Addr a, int stride);
          void enqueuePrefetch(Addr a, RubyRequestType kind) {
            enqueue(prefetch_out, RubyRequest, 1) {
              out_msg.LineAddress := a; out_msg.Type := kind;
              out_msg.Prefetch := PrefetchBit:Yes; } }""",
        ports="""
          out_port(prefetch_out, RubyRequest, prefetchQueue);
          in_port(prefetch_in, RubyRequest, prefetchQueue, rank=2) {
            if (prefetch_in.isReady(clockEdge())) { peek(prefetch_in, RubyRequest) {
              trigger(Event:Wanted, in_msg.LineAddress, getEntry(in_msg.LineAddress),
                TBEs[in_msg.LineAddress]); } } }""",
        on_load="o_observe;",
        actions="""
          action(o_observe, "o") {
            peek(mandatory_in, RubyRequest) {
              prefetcher.observeMiss(in_msg.PhysicalAddress, in_msg.Type);
              prefetcher.observeMiss(makeNextStrideAddress(address, 1), in_msg.Type);
              prefetcher.observeMiss(makeNextStrideAddress(address, 2), in_msg.Type);
              prefetcher.observeMiss(makeNextStrideAddress(address, 3), in_msg.Type);
              prefetcher.observeMiss(makeNextStrideAddress(address, 4), in_msg.Type);
              prefetcher.observePfMiss(makeNextStrideAddress(address, 5)); } }
          action(w_wanted, "w") {
            prefetch_in.dequeue(clockEdge()); prefetcher.observePfHit(address); }""",
        transitions="transition({I, W, V}, Wanted) { w_wanted; }",
    )


PROXY = {
    "parameters": "bool unasked := false; MessageBuffer * prefetchQueue;",
    "events": "Wanted;",
    "objects": """
      RubyPrefetcherProxy proxy, constructor="this, nullptr, m_prefetchQueue_ptr";""",
    "functions": "RequestorID getRequestorID(RequestPtr req);",
    "ports": """
      in_port(prefetch_in, RubyRequest, prefetchQueue, rank=2) {
        if (prefetch_in.isReady(clockEdge())) { peek(prefetch_in, RubyRequest) {
          assert(in_msg.Type == RubyRequestType:LD);
          assert(in_msg.Prefetch == PrefetchBit:Yes);
          assert(in_msg.Size == 64);
          trigger(Event:Wanted, in_msg.LineAddress, getEntry(in_msg.LineAddress),
            TBEs[in_msg.LineAddress]); } } }""",
    "on_load": "o_observe;",
    "on_store": "e_evict;",
    "actions": """
      action(o_observe, "o") { peek(mandatory_in, RubyRequest) {
        proxy.notifyPfHit(in_msg.getRequestPtr(), true, cache_entry.DataBlk);
        proxy.notifyPfMiss(in_msg.getRequestPtr(), true, cache_entry.DataBlk); } }
      action(e_evict, "e") { peek(mandatory_in, RubyRequest) {
        proxy.notifyPfEvict(address, false, getRequestorID(in_msg.getRequestPtr())); }
        if (unasked) { proxy.completePrefetch(address); } }
      action(w_wanted, "w") {
        prefetch_in.dequeue(clockEdge()); proxy.completePrefetch(address); }""",
    "transitions": "transition({I, W, V}, Wanted) { w_wanted; }",
}


def test_a_prefetcher_behind_a_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every store pretends an eviction, every load a miss: the prefetcher asks for the line that
    went last, one at a time. Then a prefetch is completed that it did not ask for."""
    protocol = load(tmp_path, monkeypatch, **PROXY)
    run(protocol, ["Wanted"])
    run(protocol, [], "bad_callback", unasked=True)


def test_each_prefetcher_has_a_queue_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = load(tmp_path, monkeypatch, **PROXY)
    plans = plans_of(protocol)
    several = protocol.description.override({"machine.L1Cache.count": 4})
    plans.read_off(several)
    assert compare(plans, several)
