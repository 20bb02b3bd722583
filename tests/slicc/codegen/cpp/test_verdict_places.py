"""A verdict of the native engine names what the Python engine names: kind, tick, machine, address,
state, event, action and line.

MI's cache gets a parameter that chooses one of many mistakes, so that one compilation serves all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.engines.selection import Chosen
from tester.execution.handover import handover_rules_of
from tester.native.leg import NativeLegRun
from tests.planted.bug import Bug, BugClass, Edit
from tests.tester.native.equality import native_engine

EDITS = (
    Edit("Cycles issue_latency := 2;", "Cycles issue_latency := 2;\n    int fault := 0;"),
    Edit(
        "  Tick clockEdge();",
        """  Tick clockEdge();
  MachineID mapAddressToRange(Addr a, MachineType mtype, int low, int bits);
  MachineID createMachineID(MachineType mtype, NodeID id);
  NodeID intToID(int value);
  int addressToInt(Addr a);
  int deep(TBE tbe) { return tbe.DataBlk.numAtomicLogEntries(); }
  void deeper(TBE tbe) { assert(deep(tbe) == 0); }""",
    ),
    Edit(
        "    if (is_valid(tbe)) {\n      return tbe.TBEState;",
        "    if (fault == 1) { return tbe.TBEState; }\n"
        "    if (is_valid(tbe)) {\n      return tbe.TBEState;",
    ),
    Edit(
        "    if (is_valid(tbe)) {\n      tbe.TBEState := state;",
        "    if (fault == 2) { tbe.TBEState := state; }\n"
        "    if (is_valid(tbe)) {\n      tbe.TBEState := state;",
    ),
    Edit(
        '    return static_cast(Entry, "pointer", cacheMemory.lookup(addr));',
        "    if (fault == 3) {\n"
        '      return static_cast(Entry, "pointer", cacheMemory.lookup(addr + 1));\n'
        "    }\n"
        '    return static_cast(Entry, "pointer", cacheMemory.lookup(addr));',
    ),
    Edit(
        "        trigger(Event:Data, in_msg.addr,",
        """        if (fault == 4) { error("stop"); }
        if (fault == 5) { assert(in_msg.addr == 1); }
        if (fault == 6) {
          trigger(Event:Store, in_msg.addr, getCacheEntry(in_msg.addr), TBEs[in_msg.addr]);
        }
        if (fault == 7) {
          Event nothing;
          trigger(nothing, in_msg.addr, getCacheEntry(in_msg.addr), TBEs[in_msg.addr]);
        }
        if (fault == 8) {
          TBE tbe := TBEs[in_msg.addr];
          trigger(Event:Data, in_msg.addr, getCacheEntry(in_msg.addr), TBEs[addressOf(tbe)]);
        }
        trigger(Event:Data, in_msg.addr,""",
    ),
    Edit(
        "  // --- where the state of a line is kept",
        "  Addr addressOf(TBE tbe) { assert(tbe.TBEState == State:I); return zero(); }\n"
        "  Addr zero() { return intToAddress(0); }\n"
        "  Addr intToAddress(int value);\n"
        "  // --- where the state of a line is kept",
    ),
    Edit(
        "      cache_entry.DataBlk := in_msg.DataBlk;",
        """      cache_entry.DataBlk := in_msg.DataBlk;
      if (fault == 10) { assert(in_msg.addr == 1); }
      if (fault == 11) { int n := 12 / (fault - 11); assert(n == n); }
      if (fault == 12) { int n := 12 % (fault - 12); assert(n == n); }
      if (fault == 13) { int n := fault << (fault + 30); assert(n == n); }
      if (fault == 14) { int n := fault >> (0 - fault); assert(n == n); }
      if (fault == 15) { TBEs.deallocate(address); }
      if (fault == 16) {
        set_cache_entry(cacheMemory.allocate(address, new Entry));
      }
      if (fault == 17) { cacheMemory.setMRU(getCacheEntry(address + 6400000)); }
      if (fault == 18) { cacheMemory.deallocate(address + 6400000); }
      if (fault == 20) { cache_entry.DataBlk.copyPartial(in_msg.DataBlk, 0 - 1, 4); }
      if (fault == 21) { sequencer.readCallback(address + 6400000, cache_entry.DataBlk); }
      if (fault == 22) {
        NetDest empty;
        assert(empty.smallestElement() == machineID);
      }
      if (fault == 23) {
        NetDest set;
        set.add(createMachineID(MachineType:TCP, intToID(0)));
      }
      if (fault == 24) {
        MachineID range := mapAddressToRange(address, MachineType:Directory, 70, 2);
        assert(range == range);
      }
      if (fault == 25) { deeper(tbe); }
      if (fault == 26) { tbe.DataBlk := cache_entry.DataBlk; }
      if (fault == 27) { cache_entry.DataBlk := tbe.DataBlk; }
      if (fault == 28) { assert(cacheMemory.cacheProbe(address) == address); }
      if (fault == 29) {
        peek(forwardNetwork_in, ForwardMsg) { assert(in_msg.addr == address); }
      }
      if (fault == 30) {
        enqueue(requestNetwork_out, RequestMsg, issue_latency) {
          out_msg.addr := address;
          out_msg.MessageSize := MessageSizeType:Request_Control;
        }
      }
      if (fault == 31) {
        enqueue(requestNetwork_out, RequestMsg, 0 - 5) {
          out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
          out_msg.MessageSize := MessageSizeType:Request_Control;
        }
      }
      if (fault == 32) {
        enqueue(requestNetwork_out, RequestMsg, issue_latency) {
          out_msg.Destination.add(machineID);
          out_msg.MessageSize := MessageSizeType:Request_Control;
        }
      }
      if (fault == 33) { assert(addressToInt(address + address * 100000) == 0); }""",
    ),
    Edit(
        "    responseNetwork_in.dequeue(clockEdge());",
        "    if (fault == 40) {\n"
        "      peek(responseNetwork_in, ForwardMsg) { assert(in_msg.addr == 1); }\n"
        "    }\n"
        "    responseNetwork_in.dequeue(clockEdge());\n"
        "    if (fault == 41) { popToTheEnd(address); }",
    ),
    Edit(
        "  action(o_popForward,",
        "  void popToTheEnd(Addr a) { responseNetwork_in.dequeue(clockEdge());\n"
        "    responseNetwork_in.dequeue(clockEdge());\n"
        "    responseNetwork_in.dequeue(clockEdge()); }\n"
        "  action(o_popForward,",
    ),
    Edit(
        "    stall_and_wait(mandatoryQueue_in, address);",
        "    if (fault == 42) {\n"
        "      Addr odd := address + 1;\n"
        "      stall_and_wait(mandatoryQueue_in, odd);\n"
        "    }\n"
        "    stall_and_wait(mandatoryQueue_in, address);",
    ),
)
FAULTS = {
    1: "null_dereference",
    2: "null_dereference",
    3: "misaligned",
    4: "panic",
    5: "assertion",
    6: "undefined_transition",
    7: "enum_range",
    8: "null_dereference",
    10: "assertion",
    11: "division_by_zero",
    12: "division_by_zero",
    13: "bad_shift",
    14: "bad_shift",
    15: "not_allocated",
    16: "already_allocated",
    17: "null_dereference",
    18: "not_allocated",
    20: "index_range",
    21: "bad_callback",
    22: "assertion",
    23: "index_range",
    24: "bad_shift",
    25: "null_dereference",
    26: "null_dereference",
    27: "null_dereference",
    28: "assertion",
    29: "empty_buffer",
    30: "message_without_destination",
    31: "negative_latency",
    32: "undeliverable",
    33: "index_range",
    40: "wrong_message",
    41: "empty_buffer",
    42: "misaligned",
}


@dataclass(frozen=True)
class Faulty:
    """The protocol with all mistakes in it, for both engines."""

    loaded: LoadedProtocol
    engine: Chosen
    actions: list[str | None]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    bug = Bug("faults", BugClass.UNDEFINED_PAIR, "MI-cache.sm", "All.", EDITS, frozenset())
    path = bug.plant(tmp_path_factory.mktemp("faults"))
    loaded = load_protocol(str(path), native=True)
    engine = native_engine(loaded)
    assert loaded.native is not None
    metadata: dict[str, Any] = json.loads(loaded.native.files["metadata.json"])
    return Faulty(loaded, engine, metadata["actions"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault}-{FAULTS[fault]}")
def test_both_engines_name_the_same_place(faulty: Faulty, fault: int) -> None:
    assignments = {"machine.L1Cache.parameters.fault": fault, "machine.L1Cache.count": 4}
    options = Options(7, 100, "replacement", assignments=assignments)
    leg = Campaign(faulty.loaded, options).plan(0).leg
    system = build_system(faulty.loaded.info, leg.description, leg.run_key)
    error = leg_run(leg, system).run().error
    assert error is not None and error.kind.value == FAULTS[fault]

    native = faulty.engine.native
    sources = faulty.loaded.native
    assert native is not None and sources is not None
    run = NativeLegRun(leg, native, handover_rules_of(leg))
    run.run()
    found = run.error
    assert found is not None and found.controller is not None
    controller = system.controllers[found.controller]
    file, line, _ = sources.site(found.site)
    states, events = controller.STATES, controller.EVENTS
    assert (
        found.kind,
        controller.MACHINE,
        controller.version,
        found.tick,
        found.address if found.event is not None else None,
        None if found.state is None else states.name_of(found.state),
        None if found.event is None else events.name_of(found.event),
        faulty.actions[found.action],
        f"{file}:{line}",
    ) == (
        error.kind,
        error.machine,
        error.version,
        error.tick,
        error.address,
        error.state,
        error.event,
        error.action,
        error.location,
    )


def test_without_a_mistake_nothing_is_found(faulty: Faulty) -> None:
    assignments = {"machine.L1Cache.parameters.fault": 0}
    leg = (
        Campaign(faulty.loaded, Options(7, 100, "replacement", assignments=assignments)).plan(0).leg
    )
    assert faulty.engine.native is not None
    run = NativeLegRun(leg, faulty.engine.native, handover_rules_of(leg))
    assert run.run().finding is None
