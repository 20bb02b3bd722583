"""Mutants are called equivalent where the text proves it, and only there."""

from __future__ import annotations

from functools import cache

import pytest

from slicc.compiler import compile_source
from slicc.mutation.equivalence.judge import Equivalence
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.mutants import mutants
from tests.slicc.mutation.test_mutants import SMALL, of

OPEN = SMALL.replace(
    'requests, network="From", virtual_network="1", vnet_type="request"', "requests"
)
"""Its requests come from outside, so that the text does not say what they are."""

ASKED = """
  in_port(asked_in, Answer, asked) {
    if (asked_in.isReady(clockEdge())) {
      peek(asked_in, Answer) { trigger(Event:Get, in_msg.addr, TBEs[in_msg.addr]); }
    }
  }
"""


def reasons(text: str, operator: Operator) -> dict[str, str]:
    protocol = compile_source(text).protocol
    judge = Equivalence(protocol)
    return {
        mutant.name.rpartition(":")[2]: judge.reason(mutant)
        for mutant in mutants(protocol)
        if mutant.operator is operator
    }


def test_actions_that_touch_different_things_may_change_places() -> None:
    found = reasons(OPEN, Operator.ACTIONS_SWAPPED)
    assert found["s_share,a_answer"].startswith("the order"), "different fields of the TBE"
    text = OPEN.replace("tbe.mask.clear();", "tbe.Dirty := true;")
    assert not reasons(text, Operator.ACTIONS_SWAPPED)["s_share,a_answer"]
    assert not found["a_answer,p_pop"], "the answer reads the message that is popped"
    assert not found["w_wake,z_wait"], "what is woken may be the message that is stalled"


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("tbe.Dirty := true;", False),
        ("set_tbe(TBEs[address]);", False),
        ("TBEs.allocate(address);", False),
        ("", True),
    ],
)
def test_an_action_without_effect_may_be_left_out(body: str, known: bool) -> None:
    text = OPEN.replace('action(p_pop, "p") { requests_in.dequeue(clockEdge()); }',
                         f'action(p_pop, "p") {{ {body} }}')  # fmt: skip
    text = text.replace("Tick clockEdge();", "Tick clockEdge(); void set_tbe(TBE t);")
    assert bool(reasons(text, Operator.ACTION_DROPPED)["p_pop"]) is known


def test_a_type_that_no_receiver_looks_at() -> None:
    text = SMALL.replace('virtual_network="0"', 'virtual_network="1"')
    text = text.replace('vnet_type="request";', 'vnet_type="request"; MessageBuffer * asked;')
    text = text.replace("  in_port(requests_in", ASKED + "  in_port(requests_in")
    assert set(reasons(text, Operator.WRONG_TYPE)) == {"Nack", "Data"}
    assert all(reasons(text, Operator.WRONG_TYPE).values())
    looking = text.replace("if (in_msg.Dirty &&", "if (in_msg.Type == Kind:Data &&")
    found = reasons(looking, Operator.WRONG_TYPE)
    assert found["Nack"] and not found["Data"]
    asking = text.replace("tbe.Sharers.add(in_msg.Requestor);",
                          "if (in_msg.Type == Kind:Nack) { tbe.Dirty := true; }")  # fmt: skip
    assert not reasons(asking, Operator.WRONG_TYPE)["Nack"]


def test_a_type_that_nothing_known_receives_counts_as_read() -> None:
    assert not any(reasons(OPEN, Operator.WRONG_TYPE).values())


def test_the_state_of_a_line_without_entry_is_kept_nowhere() -> None:
    compiled, found = of("MSI")
    judge = Equivalence(compiled.protocol)

    def known(mutant: Mutant) -> bool:
        return bool(judge.reason(mutant))

    of_rows = {m.changed: known(m) for m in found if m.operator is Operator.NEXT_STATE}
    assert of_rows["MI_A,SI_A,II_A.PutAck"], "the frame is freed"
    assert not of_rows["I.Load"] and not of_rows["S.Store"]
    directory = [m for m in found if m.machine == "Directory"]
    assert not any(known(m) for m in directory if m.operator is Operator.NEXT_STATE)


@pytest.mark.parametrize("operator", [Operator.WAKEUP_DROPPED, Operator.CONDITION_NEGATED])
def test_nothing_is_said_of_other_operators(operator: Operator) -> None:
    assert not any(reasons(OPEN, operator).values())


@cache
def equivalent(name: str) -> set[str]:
    compiled, found = of(name)
    judge = Equivalence(compiled.protocol)
    return {mutant.name for mutant in found if judge.reason(mutant)}


def test_states_with_the_same_rows_may_be_mixed_up() -> None:
    found = equivalent("MESI_Two_Level")
    assert "L2Cache:SS.L1_GETX:next-state:MT_MB" in found
    assert not any(name.startswith("L1Cache:I.Load:next-state") for name in found)
    assert "L2Cache:M_I.MEM_Inv:next-state:stay" not in found, "M_I has a row more than I_I"


def test_what_is_popped_may_be_popped_after_a_wake_up_if_nothing_of_it_waits() -> None:
    found = equivalent("MSI")
    assert "Directory:S_m.MemData:actions-swapped:qm_popMemQueue,kw_wakeWaiting" in found
    text = OPEN.replace("w_wake; z_wait; }", "p_pop; w_wake; }")
    assert reasons(text, Operator.ACTIONS_SWAPPED)["p_pop,w_wake"], "nothing is ever stalled"
    waits = text.replace("transition(S, Put)", "transition(I, Put) { z_wait; } transition(S, Put)")
    assert not reasons(waits, Operator.ACTIONS_SWAPPED)["p_pop,w_wake"]


def test_a_field_that_the_receiver_does_not_look_at() -> None:
    found = equivalent("MESI_Two_Level")
    assert "L2Cache:ct_returnLine:dirty-bit:false" in found
    assert "L1Cache:g_sendPUTX:dirty-bit:false" not in found


def test_rows_for_machines_that_a_protocol_does_not_have() -> None:
    """One directory serves two protocols; only one of them has what writes through."""
    row = "Directory:U.WriteThrough:action-dropped:pi_probeInv"
    assert row in equivalent("MOESI_AMD_Base")
    compiled, found = of("GPU_VIPER_APU")
    judge = Equivalence(compiled.protocol)
    assert not judge.reason(next(mutant for mutant in found if mutant.name == row))


def test_requests_that_nothing_sends() -> None:
    assert all(reasons(SMALL, Operator.WAKEUP_DROPPED).values())
    assert not any(reasons(OPEN, Operator.WAKEUP_DROPPED).values())


def test_a_body_that_one_live_row_shares_with_dead_ones_is_not_dead() -> None:
    assert not any("Directory:t_allocateTBE" in name for name in equivalent("MOESI_AMD_Base"))


def test_additions_to_one_set_may_change_places() -> None:
    """Each looks the line's entry up, and makes it if there is none."""
    found = equivalent("MSI")
    assert "Directory:M.GetS:actions-swapped:os_ownerIsSharer,as_addSharer" in found
    assert "Directory:I,S.GetS:actions-swapped:as_addSharer,mr_readMemory" in found
    assert "Directory:S.GetM:actions-swapped:fi_forwardInv,so_setOwner" not in found


def test_caches_that_a_transition_has_no_entry_of_are_apart() -> None:
    found = equivalent("MOESI_AMD_Base")
    assert "CorePair:M1.C0_Store_L1miss:actions-swapped:k0_keepOnly0,a0_allocate0" in found
    swapped = "CorePair:M1.C0_Store_L1miss:actions-swapped:"
    assert f"{swapped}p1_pull1,k0_keepOnly0" not in found, "one reads the frame that is freed"
    assert f"{swapped}a0_allocate0,c0_copy0" not in found


CACHE = """
machine(MachineType:L1Cache, "cache") : CacheMemory * lines; CacheMemory * other;
    MessageBuffer * asked; MessageBuffer * answers, network="To", virtual_network="0",
    vnet_type="response";
{
  state_declaration(State) { I, AccessPermission:NotPresent; V, AccessPermission:Read_Only;
    B, AccessPermission:NotPresent; }
  enumeration(Event) { Get; Drop; }
  structure(Ask, interface="Message") { Addr addr; bool Gone; MachineID Asks; NetDest Destination;
    MessageSizeType MessageSize; }
  structure(Entry, interface="AbstractCacheEntry") { State CacheState; bool Awaited; int Hits; }
  Tick clockEdge();
  void set_cache_entry(AbstractCacheEntry a);
  void unset_cache_entry();
  Entry known(Addr addr), return_by_pointer="yes" {
    return static_cast(Entry, "pointer", lines.lookup(addr));
  }
  State getState(Entry e, Addr addr) {
    if (is_valid(e)) { return e.CacheState; }
    return State:I;
  }
  void setState(Entry e, Addr addr, State state) { if (is_valid(e)) { e.CacheState := state; } }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:NotPresent; }
  void setAccessPermission(Entry e, Addr addr, State state) {
    if (is_valid(e)) { e.changePermission(L1Cache_State_to_permission(state)); }
  }
  void functionalRead(Addr addr, Packet *pkt) { }
  int functionalWrite(Addr addr, Packet *pkt) { return 0; }
  out_port(answers_out, Ask, answers);
  in_port(asked_in, Ask, asked) {
    if (asked_in.isReady(clockEdge())) {
      peek(asked_in, Ask) {
        Entry e := known(in_msg.addr);
        if (in_msg.Gone) { trigger(Event:Drop, in_msg.addr, e); }
        trigger(Event:Get, in_msg.addr, e);
      }
    }
  }
  action(a_allocate, "a") { set_cache_entry(lines.allocate(address, new Entry)); }
  action(d_free, "d") { lines.deallocate(address); unset_cache_entry(); }
  action(w_await, "w") { cache_entry.Awaited := true; }
  action(c_count, "c") { if (cache_entry.Awaited) { lines.profileDemandHit(); } }
  action(p_pop, "p") { asked_in.dequeue(clockEdge()); }
  transition(I, Get, V) { a_allocate; w_await; p_pop; }
  transition(V, Get) { c_count; p_pop; }
  transition(V, Drop, I) { d_free; p_pop; }
  transition(I, Drop) { p_pop; }
}
"""


def dropped(text: str) -> dict[str, str]:
    return reasons(text, Operator.ACTION_DROPPED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I, AccessPermission:NotPresent", "I, AccessPermission:Invalid"),
        ("transition(V, Drop, I)", "transition(V, Drop, B)"),
        ("Drop, I) { d_free; p_pop; }", "Drop, I) { d_free; c_count; }"),
        ("transition(V, Drop, I)", "transition({I, V}, Drop, I)"),
        ("e := known(in_msg.addr)", "e := known(makeLineAddress(in_msg.addr))"),
        ("lines.lookup(addr)", "other.lookup(addr)"),
        ("bool Awaited;", "bool Awaited; Entry Next;"),
        ("e.CacheState := state;", "e.CacheState := state; lines.deallocate(addr);"),
        ("e.changePermission(L1Cache_State_to_permission(state));",
         "e.changePermission(AccessPermission:Read_Only);"),
    ],
)  # fmt: skip
def test_a_frame_that_is_free_in_any_case(old: str, new: str) -> None:
    text = CACHE.replace("Tick clockEdge();", "Tick clockEdge(); Addr makeLineAddress(Addr a);")
    assert dropped(text)["d_free"].startswith("the frame")
    assert old in text
    text = text.replace("  transition(I, Drop) { p_pop; }\n" if "{I, V}" in new else "\n\n", "\n")
    assert not dropped(text.replace(old, new))["d_free"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lines.profileDemandHit();", "cache_entry.Hits := 1;"),
        ("if (cache_entry.Awaited)", "assert(cache_entry.Awaited); if (cache_entry.Hits == 0)"),
        ("if (in_msg.Gone)", "if (in_msg.Gone && e.Awaited)"),
    ],
)
def test_a_field_that_only_decides_what_is_counted(old: str, new: str) -> None:
    found = dropped(CACHE)
    assert found["w_await"] and found["c_count"] and not found["a_allocate"]
    assert not dropped(CACHE.replace(old, new))["w_await"]


CHECKED = """State getState(Entry e, Addr addr) {
    assert(lines.isTagPresent(addr) == is_valid(e));
    if (is_valid(e)) { return e.CacheState; } else if (is_valid(e)) { return State:B; }
    return State:I;
  }
  void setState(Entry e, Addr addr, State state) {
    assert(lines.isTagPresent(addr) == is_valid(e));
    if (is_valid(e)) { e.CacheState := state; }
  }
  """


def next_of_drop(functions: str) -> str:
    """The reason for another state after the row that frees a frame, with these functions."""
    first, last = CACHE.index("State getState"), CACHE.index("AccessPermission getAccess")
    return reasons(CACHE[:first] + functions + CACHE[last:], Operator.NEXT_STATE)["B"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("else if (is_valid(e)) {", "else if (lines.isTagPresent(addr)) {"),
        ("return State:I;", "if (lines.isTagPresent(addr)) { return State:B; } return State:I;"),
        ("return State:I;",
         "if (lines.isTagPresent(addr)) { return State:I; } else { return State:B; }"),
    ],
)  # fmt: skip
def test_a_state_that_is_checked_or_found_elsewhere_is_kept_nowhere(old: str, new: str) -> None:
    """Machines of gem5 check in both functions that a line has at most one entry, and ask a table
    of persistent requests for the state of lines that they do not have."""
    assert old in CHECKED
    assert next_of_drop(CHECKED.replace(old, new, 1)).startswith("nothing holds")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("setState(Entry e, Addr addr, State state) {\n    assert(",
         "setState(Entry e, Addr addr, State state) {\n    assert(state == State:I || "),
        ("return State:I;", "State found := State:I; return found;"),
        ("else if (is_valid(e)) { return State:B;",
         "else if (lines.isTagPresent(addr)) { return known(addr).CacheState;"),
    ],
)  # fmt: skip
def test_a_state_that_may_be_kept_elsewhere(old: str, new: str) -> None:
    assert old in CHECKED
    assert not next_of_drop(CHECKED.replace(old, new))


def test_a_line_whose_state_is_forgotten_may_be_in_any_state_that_is_not_known() -> None:
    """A message that is stalled in S waits in I once nothing holds the state."""
    text = OPEN.replace("a_answer;  // both", "a_answer; w_wake;")
    text = text.replace("transition({I, S}, Get, S)", "transition(I, Get, S)")
    text = text.replace("    p_pop; }", "    }").replace("w_wake; z_wait; }", "z_wait; }")
    text = text.replace("a_answer; w_wake;", "a_answer; p_pop; w_wake;")
    unknown = text.replace("return State:I;", "State found := State:I; return found;")
    for each in (text, unknown):
        assert not reasons(each, Operator.ACTIONS_SWAPPED)["p_pop,w_wake"]
    calm = text.replace("{ z_wait; }", "{ p_pop; }")
    assert reasons(calm, Operator.ACTIONS_SWAPPED)["p_pop,w_wake"]


def test_what_counts_delays_may_change_places() -> None:
    """Nearly all pops of gem5's protocols do."""
    pop = "asked_in.dequeue(clockEdge());"
    for call, known in ((f"profileMsgDelay(0, ticksToCycles({pop[:-1]}));", True), (pop, True)):
        text = CACHE.replace(pop, call)
        found = reasons(text, Operator.ACTIONS_SWAPPED)
        assert bool(found["w_await,p_pop"]) is known
