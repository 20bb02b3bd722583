"""Classes of the library that only protocols of gem5 use: alarms, tables without limit, queues of
events, messages that are expected, slots, persistent requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol
from runtime.native.system import ChoiceKind
from tester.exploration.counterexample.counterexample import counterexample
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.native_search import NativeSearch, Rules, build
from tester.exploration.native_words import WalkFault
from tester.exploration.report import Namer
from tester.exploration.small_system import Bounds, _by_machine, small_system
from tests.tester.native.solo import QUEUES, TIMER, load

PARTS = {
    **TIMER,
    "types": """
      structure(Sheet, interface="AbstractCacheEntry", main="false") { int uses, default="0"; }
      structure(PerfectCacheMemory, external="yes") {
        void allocate(Addr); void deallocate(Addr); Sheet lookup(Addr); bool isTagPresent(Addr); }
    """,
    "objects": 'TimerTable timer; PerfectCacheMemory sheets, template="<L1Cache_Sheet>";',
    "functions": """
      Cycles intToCycles(int c);
      Sheet getSheet(Addr a), return_by_pointer="yes" { return sheets.lookup(a); }""",
    "actions": """
      action(c_count, "c") {
        Sheet sheet := getSheet(address);
        assert(sheet.uses < 2);
        sheet.uses := sheet.uses + 1; }
      action(d_drop, "d") { if (sheets.isTagPresent(address)) { sheets.deallocate(address); } }
      action(t_set, "t") { timer.set(address, clockEdge() + cyclesToTicks(intToCycles(30))); }
      action(u_unset, "u") { timer.unset(address); wakeUpAllBuffers(address); }""",
    "on_store": "d_drop; t_set;",
}
TWO_LINES = Bounds(caches=1, lines=2, locations=1)


@pytest.fixture(scope="module")
def alarmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedProtocol]:
    """The third load since the last store is an error, so it matters how many there were."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield load(tmp_path_factory.mktemp("alarmed"), monkeypatch, **PARTS, on_load="c_count;")


def test_alarms_and_sheets_are_in_the_code(alarmed: LoadedProtocol) -> None:
    for symmetry in (False, True):
        system = small_system(alarmed, TWO_LINES, symmetry=symmetry)
        with NativeSearch(build(alarmed), system, Rules()) as search:
            walks = [search.random_walk(seed, 60) for seed in range(4)]
        assert [fault for fault, _, _ in walks] == [WalkFault.SAME] * 4
    found = explore(alarmed, TWO_LINES, Rules())
    assert found.finding is not None
    namer = Namer(alarmed, found.system)
    began = [step.choice for step in found.finding.trace if step.choice.kind is ChoiceKind.ISSUE]
    assert [namer.choice(each) for each in began] == ["cpu0 loads line 0a"] * 3


def test_an_alarm_is_under_way_until_it_goes_off(alarmed: LoadedProtocol) -> None:
    """Nothing is at rest before, and a request may wait for it: no deadlock."""
    found = explore(alarmed, replace(TWO_LINES, operations=("store",)), Rules())
    machine = alarmed.info.machines[0]
    events = {machine.EVENTS.name_of(cell.event) for cell in found.cells}
    assert (found.conclusion, found.completion_judged) == (Conclusion.EXHAUSTED, True)
    assert events == {"Store", "Filled", "Ring"}


SLOW_STEPS = {
    **QUEUES,
    "tbe": QUEUES["tbe"] + " Tick until;",
    "functions": """
      Cycles intToCycles(int c); Cycles ticksToCycles(Tick t); Tick intToTick(int t);
      void next(TBE tbe, Addr a) {
        Cycles wait := intToCycles(0);
        if (tbe.until > curTick()) {
          wait := ticksToCycles(tbe.until) - ticksToCycles(curTick());
          tbe.until := intToTick(0); }
        enqueue(trigger_out, Step, wait) { out_msg.addr := a;
          out_msg.arrives := tbe.actions.empty(); } }""",
    "on_store": "q_queue; w_wait;",
    "actions": QUEUES["actions"]
    + """
      action(w_wait, "w") { tbe.until := curTick() + cyclesToTicks(intToCycles(9)); }""",
}
"""The second step comes later than the first one."""
STORES = Bounds(caches=1, locations=1, operations=("store",))


def test_queues_and_slots_are_in_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that a record still has to make, and whether the next one is held back."""
    protocol = load(tmp_path, monkeypatch, **SLOW_STEPS)
    system = small_system(protocol, replace(TWO_LINES, operations=()), symmetry=False)
    with NativeSearch(build(protocol), system, Rules()) as search:
        walks = [search.random_walk(seed, 200) for seed in range(4)]
    assert [fault for fault, _, _ in walks] == [WalkFault.SAME] * 4
    found = explore(protocol, STORES, Rules())
    assert (found.conclusion, found.completion_judged) == (Conclusion.EXHAUSTED, True)
    assert (found.statistics.states, found.statistics.under_way) == (27, 2)


def test_what_is_sent_with_several_latencies_is_not_kept_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = load(tmp_path, monkeypatch, **SLOW_STEPS)
    system = small_system(late, STORES, symmetry=False)
    assert [system.buffers[each] for each in system.prompt] == ["L1Cache0.triggerQueue"]
    assert not system.prompt & system.ordered
    (tmp_path / "steady").mkdir()
    steady = load(tmp_path / "steady", monkeypatch, **QUEUES)
    system = small_system(steady, STORES, symmetry=False)
    assert not system.prompt
    assert "L1Cache0.triggerQueue" in {system.buffers[each] for each in system.ordered}


def test_a_buffer_is_known_by_the_machine_of_its_controller() -> None:
    machines = {"L1Cache0": "L1Cache", "Level21": "Level2"}
    assert _by_machine("Level21.triggerQueue", machines) == "Level2.triggerQueue"


STORED = {
    **SLOW_STEPS,
    "entry": "bool stored;",
    "actions": SLOW_STEPS["actions"].replace(
        "TBEs.deallocate(address); unset_tbe();",
        "cache_entry.stored := true; TBEs.deallocate(address); unset_tbe();",
    )
    + """
      action(c_check, "c") { assert(cache_entry.stored == false); }""",
    "on_load": "c_check;",
}
"""A load behind a store and its steps is an error."""


def test_what_arrives_at_once_has_no_turn_in_a_leg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the steps of the store one is under way for some time, and the first one is not."""
    protocol = load(tmp_path, monkeypatch, **STORED)
    found = explore(protocol, replace(STORES, operations=()), Rules())
    assert found.finding is not None
    made = counterexample(found, protocol)
    assert (made.same, made.difference) == (True, "")
    assert made.leg is not None
    script = made.leg.description.network.script or ()
    assert [each.channel for each in script].count("L1Cache0.triggerQueue") == 1


def test_what_is_done_in_one_tick_is_not_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other cache's accesses come before or behind, with the same transitions."""
    protocol = load(tmp_path, monkeypatch, **QUEUES)
    path = "machine.L1Cache.parameters.transitions_per_cycle"
    bounds = replace(STORES, caches=2)
    one, all_ = (
        explore(protocol, replace(bounds, assignments=((path, most),)), Rules())
        for most in (1, 256)
    )
    assert one.conclusion is all_.conclusion is Conclusion.EXHAUSTED
    assert one.cells == all_.cells
    assert all_.statistics.states < one.statistics.states


MARKS = {
    "types": """
      structure(PersistentTable, external="yes") {
        void persistentRequestLock(Addr, MachineID, AccessType); bool isLocked(Addr); }""",
    "entry": """
      void setInHtmReadSet(bool), external="yes"; bool getInHtmReadSet(), external="yes";""",
    "objects": "PersistentTable table;",
    "actions": """
      action(k_mark, "k") {
        if (table.isLocked(address)) {
          cache_entry.setInHtmReadSet(true);
        } else {
          table.persistentRequestLock(address, machineID, AccessType:Read); } }
      action(c_check, "c") { assert(cache_entry.getInHtmReadSet() == false); }""",
    "on_load": "k_mark;",
    "on_store": "c_check;",
}


def test_persistent_requests_and_marks_of_lines_are_in_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first load leaves a persistent request, the second one a mark, which a store finds."""
    protocol = load(tmp_path, monkeypatch, **MARKS)
    found = explore(protocol, replace(TWO_LINES, lines=1), Rules())
    assert found.finding is not None
    namer = Namer(protocol, found.system)
    began = [step.choice for step in found.finding.trace if step.choice.kind is ChoiceKind.ISSUE]
    wanted = ["cpu0 loads line 0a", "cpu0 loads line 0a", "cpu0 stores line 0a"]
    assert [namer.choice(each) for each in began] == wanted
