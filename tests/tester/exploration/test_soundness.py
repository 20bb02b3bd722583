"""Reductions are left out where they would change a verdict, and no finding is made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.native.system import ErrorWord
from tester.errors import ConfigError
from tester.exploration import small_system
from tester.exploration.exploration import Conclusion, NotReproduced, explore
from tester.exploration.native_search import NativeSearch, build
from tester.exploration.native_words import FindingKind, WalkFault
from tester.exploration.small_system import Bounds
from tests.planted.bug import Edit
from tests.tester.exploration.starter import ACCESS, DATA, checking, declaring, edited
from tests.tester.exploration.systems import SMALL

TWO_LINES = Bounds(caches=1, lines=2, locations=1)
BITS = declaring("int addressToInt(Addr a);\n  Addr bitSelect(Addr a, int low, int high);")
ODD_LINE = checking('if (addressToInt(bitSelect(address, 4, 4)) == 1) { error("odd line"); }')


def test_what_no_run_shows_is_a_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_system, "_lines_alike", lambda *_: True)
    protocol = edited(tmp_path, BITS, ODD_LINE, DATA)
    with pytest.raises(NotReproduced, match=r"a concrete run does not show$"):
        explore(protocol, TWO_LINES, SMALL)


PARAMETER = Edit(
    "    CacheMemory * cache;\n", '    CacheMemory * cache;\n    bool odd := "False";\n'
)
GROUPS = """
[machine.L1Cache]
of = "L1Cache"
count = 1
[machine.Odd]
of = "L1Cache"
count = 1
parameters.odd = true
"""


def test_caches_of_two_groups_are_not_alike(tmp_path: Path) -> None:
    """Only one of them takes the way that is wrong."""
    wrong = checking('if (odd) { error("odd"); }')
    protocol = edited(tmp_path, PARAMETER, wrong, ACCESS, system=GROUPS)
    found = explore(protocol, Bounds(caches=1, locations=1), SMALL)
    assert found.finding is not None and len(found.system.renamings) == 1
    assert (found.finding.kind, len(found.finding.trace)) == (FindingKind.ERROR, 6)
    assert found.finding.judgement.error[ErrorWord.CONTROLLER] == 1


LINK = Edit(
    "    CacheMemory * cache;\n",
    '    CacheMemory * cache;\n    MessageBuffer * toL2, network="To";\n',
)
LINK_OUT = declaring('int fills, default="0";\n  out_port(l2_out, LendMsg, toL2);')
TELL = checking("""
    if (fills < 2) {
      enqueue(l2_out, LendMsg, 1) {
        out_msg.addr := address;
        out_msg.Type := LendType:GET;
        if (fills == 1) { out_msg.Type := LendType:PUT; }
      }
      fills := fills + 1;
    }""")
BELOW = """
machine(MachineType:L2Cache, "Told of the first two fills of the cache above")
  : MessageBuffer * fromL1, network="From";
{
  state_declaration(State, default="L2Cache_State_I") { I, AccessPermission:NotPresent; }
  enumeration(Event) { Fill; }
  LendType next, default="LendType_GET";
  Tick clockEdge();
  State getState(Addr a) { return State:I; }
  void setState(Addr a, State s) { }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:NotPresent; }
  void setAccessPermission(Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }
  in_port(cache_in, LendMsg, fromL1) {
    if (cache_in.isReady(clockEdge())) {
      peek(cache_in, LendMsg) { trigger(Event:Fill, in_msg.addr); }
    }
  }
  action(n_next, "n") {
    peek(cache_in, LendMsg) { assert(in_msg.Type == next); }
    next := LendType:PUT;
    cache_in.dequeue(clockEdge());
  }
  transition(I, Fill) { n_next; }
}
"""


@pytest.mark.explore
def test_caches_that_are_linked_to_others_are_not_alike(tmp_path: Path) -> None:
    """What is below them does not take the other's place with them."""
    protocol = edited(tmp_path, LINK, LINK_OUT, TELL, DATA, machine=BELOW)
    bounds = Bounds(locations=1, assignments=(("machine.L2Cache.count", 2),))
    found = explore(protocol, bounds, SMALL)
    assert (found.conclusion, len(found.system.renamings)) == (Conclusion.EXHAUSTED, 1)


def test_a_private_cache_that_nothing_describes_is_as_many_as_those_above(tmp_path: Path) -> None:
    private = BELOW.replace("  : Message", "  : CacheMemory * cache;\n    Message")
    protocol = edited(tmp_path, LINK, LINK_OUT, TELL, DATA, machine=private)
    found = small_system.small_system(protocol, Bounds(locations=1), symmetry=False)
    assert found.description.machines["L2Cache"].count == 2


DOWN = checking("""
    peek(directory_in, LendMsg) {
      if (seen && in_msg.addr < last) { error("lines go down"); }
      last := in_msg.addr;
      seen := true;
    }""")
LAST = declaring('Addr last;\n  bool seen, default="false";')


@pytest.mark.parametrize(
    ("edits", "steps"),
    [
        pytest.param((BITS, ODD_LINE), 5, id="a bit"),
        pytest.param((LAST, DOWN), 15, id="an order", marks=pytest.mark.explore),
    ],
)
def test_lines_that_a_protocol_tells_apart_are_not_alike(
    edits: tuple[Edit, ...], steps: int, tmp_path: Path
) -> None:
    found = explore(edited(tmp_path, *edits, DATA), TWO_LINES, SMALL)
    assert found.finding is not None and len(found.system.renamings) == 1
    assert (found.finding.kind, len(found.finding.trace)) == (FindingKind.ERROR, steps)


HISTORY = Edit(
    '    DataBlock DataBlk,      desc="The line";\n',
    '    DataBlock DataBlk,      desc="The line";\n    DataBlock Prev1, desc="Before a store";\n'
    '    DataBlock Prev2, desc="Before the store ahead of it";\n'
    '    int stores, default="0", desc="Until two";\n',
)


def stores_twice(first: str, statement: str) -> Edit:
    """A cache that keeps what two stores replace, and looks at it in a load."""
    return checking(f"""
    peek(mandatory_in, RubyRequest) {{
      if (in_msg.Type == RubyRequestType:ST) {{
        if (cache_entry.stores < 2) {{
          cache_entry.Prev2 := cache_entry.{first};
          cache_entry.Prev1 := cache_entry.DataBlk;
          cache_entry.stores := cache_entry.stores + 1;
        }}
      }} else {{
        if (cache_entry.stores == 2) {{ {statement} }}
      }}
    }}""")


EQUAL = "assert(cache_entry.Prev1 == cache_entry.Prev2);"


@pytest.mark.explore
def test_old_values_are_kept_apart_where_data_are_asserted_to_be_equal(tmp_path: Path) -> None:
    """Two that no load may return any more."""
    protocol = edited(tmp_path, HISTORY, stores_twice("Prev1", EQUAL), ACCESS)
    found = explore(protocol, Bounds(caches=1, locations=1), SMALL)
    assert found.finding is not None and len(found.finding.trace) == 8
    assert found.finding.kind is FindingKind.ERROR


@pytest.mark.explore
def test_what_is_equal_stays_so_where_states_keep_all_values(tmp_path: Path) -> None:
    protocol = edited(tmp_path, HISTORY, stores_twice("DataBlk", EQUAL), ACCESS)
    assert explore(protocol, Bounds(), SMALL).conclusion is Conclusion.EXHAUSTED
    system = small_system.small_system(protocol, Bounds(lines=2), symmetry=True)
    with NativeSearch(build(protocol), system, SMALL) as search:
        walks = [search.random_walk(seed, 120) for seed in range(4)]
    assert [fault for fault, _, _ in walks] == [WalkFault.SAME] * 4
    assert min(compared for _, compared, _ in walks) >= 30


@pytest.mark.parametrize("operator", ["==", "!="])
def test_a_protocol_that_decides_by_data_is_refused(operator: str, tmp_path: Path) -> None:
    wrong = f'if (cache_entry.Prev1 {operator} cache_entry.Prev2) {{ error("changed"); }}'
    protocol = edited(tmp_path, HISTORY, stores_twice("Prev1", wrong), ACCESS)
    with pytest.raises(ConfigError, match=rf"it has {operator} of data in L1Cache"):
        explore(protocol, Bounds(), SMALL)
