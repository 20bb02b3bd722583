"""Transitions that go on with a TBE that they have freed: where ``setState`` asks for it."""

from __future__ import annotations

import pytest

from slicc import ir
from slicc.compiler import compile_source
from slicc.ir.expression_printer import statements
from slicc.ir.verifier import verify

TEXT = """
machine(MachineType:L1Cache, "one") : MessageBuffer * from; {{
  state_declaration(State, default="L1Cache_State_I") {{
    I, AccessPermission:Invalid; B, AccessPermission:Busy; }}
  enumeration(Event) {{ Go; }}
  structure(Entry, interface="AbstractCacheEntry") {{ State st; }}
  structure(TBE) {{ State st; }}
  structure(TBETable, external="yes") {{ TBE lookup(Addr); void allocate(Addr);
    void deallocate(Addr); bool isPresent(Addr); }}
  TBETable TBEs, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  {objects}
  Tick clockEdge(); void set_tbe(TBE t); void unset_tbe();
  void set_cache_entry(AbstractCacheEntry e); void unset_cache_entry();
  Entry nothing(), return_by_pointer="yes" {{ return OOD; }}
  State getState(TBE tbe, Entry e, Addr a) {{
    if (is_valid(tbe)) {{ return tbe.st; }} return State:I; }}
  void setState(TBE tbe, Entry e, Addr a, State s) {{ {sets} }}
  AccessPermission getAccessPermission(Addr a) {{ return AccessPermission:NotPresent; }}
  void setAccessPermission(Entry e, Addr a, State s) {{ }}
  void functionalRead(Addr a, Packet *pkt) {{ }}
  int functionalWrite(Addr a, Packet *pkt) {{ return 0; }}
  in_port(from_in, MemoryMsg, from) {{ if (from_in.isReady(clockEdge())) {{
    peek(from_in, MemoryMsg) {{
      trigger(Event:Go, in_msg.addr, nothing(), TBEs[in_msg.addr]); }} }} }}
  action(first, "a") {{ {first} }}
  action(second, "b") {{ {second} }}
  transition(I, Go) {{ first; second; }}
}}
"""
USES = "if (is_valid(tbe)) { tbe.st := s; }"
FREES = "TBEs.deallocate(address);"
ENDS = "unset_tbe();"
PICKS = "if (TBEs.isPresent(address)) {{ {} }} else {{ {} }}"
FURTHER = 'TBETable others, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";'


def set_state(first: str, second: str = "", sets: str = USES, objects: str = "") -> str:
    text = TEXT.format(first=first, second=second, sets=sets, objects=objects)
    protocol = compile_source(text).protocol
    assert verify(protocol) == []
    (function,) = [each for each in protocol.machines[0].functions if _is_set_state(each)]
    return "\n".join(statements(function.body, ""))


def _is_set_state(function: ir.Function) -> bool:
    return function.written_name == "setState"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FREES, ""),
        ("", FREES),
        (ENDS, FREES),
        (PICKS.format(FREES, FREES + ENDS), ""),
        (PICKS.format("", FREES), ""),
    ],
)
def test_what_may_keep_what_it_freed_is_asked(first: str, second: str) -> None:
    assert "stillHas" in set_state(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("", ""),
        (FREES + ENDS, ""),
        (FREES, ENDS),
        (FREES, "TBEs.allocate(address); set_tbe(TBEs[address]);"),
        (PICKS.format(FREES, ""), ENDS),
        (PICKS.format(FREES + ENDS, ""), ""),
    ],
)
def test_what_ends_its_use_is_left_as_it_is(first: str, second: str) -> None:
    assert "stillHas" not in set_state(first, second)


def test_nothing_is_asked_of_several_tables_or_without_use() -> None:
    assert "stillHas" not in set_state(FREES, objects=FURTHER)
    assert "stillHas" not in set_state(FREES, sets="if (is_valid(e)) { e.st := s; }")
