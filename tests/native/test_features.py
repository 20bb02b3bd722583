"""Small protocols around one class of the library each run alike on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.solo import check

PERSISTENT = """
  structure(PersistentTable, external="yes") {
    void persistentRequestLock(Addr, MachineID, AccessType);
    void persistentRequestUnlock(Addr, MachineID);
    bool okToIssueStarving(Addr, MachineID); MachineID findSmallest(Addr);
    AccessType typeOfSmallest(Addr); void markEntries(Addr); bool isLocked(Addr);
    int countStarvingForAddress(Addr); int countReadStarvingForAddress(Addr); }
"""
PERFECT = """
  structure(Sheet, interface="AbstractCacheEntry", main="false") { int uses, default="7"; }
  structure(PerfectCacheMemory, external="yes") {
    void allocate(Addr); void deallocate(Addr); Sheet lookup(Addr); bool isTagPresent(Addr); }
"""
CYCLES = "Cycles intToCycles(int c);"
TIMER_PORT = """
  in_port(timer_in, Addr, timer, rank=2) {
    if (timer_in.isReady(clockEdge())) {
      Addr a := timer.nextAddress();
      trigger(Event:Ring, a, getEntry(a), TBEs[a]); } }
"""
TIMER = {
    "events": "Ring;",
    "states": "H, AccessPermission:Read_Write;",
    "objects": "TimerTable timer;",
    "functions": CYCLES,
    "after_store": ", H",
    "on_store": "t_set;",
    "ports": TIMER_PORT,
}


def test_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(tmp_path, monkeypatch, ["Load", "Store", "Filled"])


def test_timers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that was stored to is left alone until its alarm rings."""
    check(
        tmp_path,
        monkeypatch,
        ["Ring"],
        **TIMER,
        actions="""
          action(t_set, "t") {
            assert(timer.isSet(address) == false);
            timer.set(address, clockEdge() + cyclesToTicks(intToCycles(30))); }
          action(u_unset, "u") { timer.unset(address); wakeUpAllBuffers(address); }""",
        transitions="""
          transition(H, Ring, V) { u_unset; }
          transition(H, {Load, Store}) { z_wait; }""",
    )


def test_an_alarm_is_set_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(
        tmp_path,
        monkeypatch,
        [],
        "already_allocated",
        **TIMER,
        actions="""
          action(t_set, "t") {
            timer.set(address, clockEdge() + cyclesToTicks(intToCycles(30)));
            timer.set(address, clockEdge()); }""",
        transitions="transition(H, {Load, Store, Ring}) { z_wait; }",
    )


def test_persistent_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads starve until a store comes, and what they find out is kept in the line."""
    check(
        tmp_path,
        monkeypatch,
        ["Store"],
        types=PERSISTENT,
        objects="PersistentTable table;",
        entry="int seen;",
        on_load="p_lock;",
        on_store="q_unlock;",
        actions="""
          action(p_lock, "p") {
            bool free := table.isLocked(address) == false;
            assert(table.okToIssueStarving(address, machineID) == free);
            if (free) {
              table.persistentRequestLock(address, machineID, AccessType:Write);
              assert(table.typeOfSmallest(address) == AccessType:Write);
              assert(table.findSmallest(address) == machineID);
              assert(table.countReadStarvingForAddress(address) == 0);
              table.markEntries(address); }
            cache_entry.seen := table.countStarvingForAddress(address); }
          action(q_unlock, "q") {
            if (table.isLocked(address)) {
              assert(cache_entry.seen == 1);
              table.persistentRequestUnlock(address, machineID); } }""",
    )


@pytest.mark.parametrize(
    "call, verdict",
    [
        ("table.findSmallest(address) == machineID", "not_allocated"),
        ("table.typeOfSmallest(address) == AccessType:Read", "not_allocated"),
    ],
)
def test_nobody_starves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, verdict: str
) -> None:
    check(
        tmp_path,
        monkeypatch,
        [],
        verdict,
        types=PERSISTENT,
        objects="PersistentTable table;",
        on_fill="p_look;",
        actions=f'action(p_look, "p") {{ assert({call}); }}',
    )


def test_perfect_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses of a line are counted in a sheet of its own, which every third store throws away."""
    check(
        tmp_path,
        monkeypatch,
        ["Load", "Store"],
        types=PERFECT,
        objects='PerfectCacheMemory sheets, template="<L1Cache_Sheet>";',
        on_load="c_count;",
        on_store="c_count; d_drop;",
        functions="""
          Sheet getSheet(Addr a), return_by_pointer="yes" { return sheets.lookup(a); }""",
        actions="""
          action(c_count, "c") {
            Sheet sheet := getSheet(address);
            assert(sheet.uses >= 7);
            sheet.uses := sheet.uses + 1;
            assert(sheets.isTagPresent(address)); }
          action(d_drop, "d") {
            if (sheets.lookup(address).uses > 9) {
              sheets.deallocate(address);
              assert(sheets.isTagPresent(address) == false);
              sheets.allocate(address);
              assert(getSheet(address).uses == 7); } }""",
    )


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


def test_transactions_in_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores are counted in a cache of marks. The fourth store of any line aborts: what was
    written in the transaction starts again. Loads of lines with two stores commit."""
    check(
        tmp_path,
        monkeypatch,
        ["Load", "Store"],
        parameters="CacheMemory * marks;",
        entry="""
          int stores;
          void setInHtmReadSet(bool), external="yes"; bool getInHtmReadSet(), external="yes";
          void setInHtmWriteSet(bool), external="yes"; bool getInHtmWriteSet(), external="yes";
          void invalidateEntry() { stores := 0; }""",
        functions="""
          Entry getMark(Addr a), return_by_pointer="yes" {
            return static_cast(Entry, "pointer", marks.lookup(a)); }""",
        on_load="c_commit;",
        on_store="c_count;",
        actions="""
          action(c_commit, "cc") {
            if (is_valid(getMark(address)) && getMark(address).stores == 2) {
              getMark(address).setInHtmReadSet(true);
              marks.htmCommitTransaction();
              assert(getMark(address).getInHtmReadSet() == false);
              assert(getMark(address).getInHtmWriteSet() == false);
              assert(getMark(address).stores == 2); } }
          action(c_count, "c") {
            if (marks.isTagPresent(address) == false && marks.cacheAvail(address)) {
              marks.allocateVoid(address, new Entry); }
            Entry mark := getMark(address);
            if (is_valid(mark)) {
              mark.changePermission(AccessPermission:Read_Write);
              mark.setInHtmWriteSet(true);
              mark.stores := mark.stores + 1;
              if (mark.stores == 4) {
                marks.htmAbortTransaction();
                assert(mark.stores == 0); } } }""",
    )
