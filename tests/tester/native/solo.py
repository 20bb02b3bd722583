"""A protocol of one machine around whatever feature of the library is to be tried.

The machine keeps every line that was ever asked for, as it came from memory, so it is coherent
whatever a feature adds; the checker judges every byte. Invariant: :func:`check` fails unless both
engines make the same transitions at the same ticks, pass, and reach the events that matter.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tests.compiling import CHECKED
from tests.tester.native.equality import Summary, native_engine, run_in_python, run_natively

FRAME = """
protocol "Solo";
include "RubySlicc_interfaces.slicc";
include "Solo.sm";
"""
MACHINE = """
machine(MachineType:L1Cache, "Keeps everything")
  : Sequencer * sequencer; DirectoryMemory * store; {parameters}
    MessageBuffer * requestToMemory; MessageBuffer * responseFromMemory;
    MessageBuffer * mandatoryQueue;
{{
  state_declaration(State, default="L1Cache_State_I") {{
    I, AccessPermission:Invalid; W, AccessPermission:Busy; V, AccessPermission:Read_Write;
    {states} }}
  enumeration(Event) {{ Load; Store; Filled; {events} }}
  {types}
  structure(Entry, interface="AbstractCacheEntry") {{ State st; DataBlock DataBlk; {entry} }}
  structure(TBE) {{ State st; {tbe} }}
  structure(TBETable, external="yes") {{
    TBE lookup(Addr); void allocate(Addr); void deallocate(Addr); bool isPresent(Addr); }}
  TBETable TBEs, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  {objects}
  Tick clockEdge(); Tick cyclesToTicks(Cycles c); Cycles curCycle(); Tick curTick();
  void set_tbe(TBE t); void unset_tbe();
  void set_cache_entry(AbstractCacheEntry e); void unset_cache_entry();
  void wakeUpAllBuffers(Addr a); void wakeUpBuffers(Addr a); Addr makeLineAddress(Addr a);
  MachineID mapAddressToMachine(Addr a, MachineType mtype);

  Entry getEntry(Addr a), return_by_pointer="yes" {{
    return static_cast(Entry, "pointer", store.lookup(makeLineAddress(a))); }}
  State getState(TBE tbe, Entry cache_entry, Addr a) {{
    if (is_valid(tbe)) {{ return tbe.st; }}
    if (is_valid(cache_entry)) {{ return cache_entry.st; }}
    return State:I; }}
  void setState(TBE tbe, Entry cache_entry, Addr a, State s) {{
    if (is_valid(tbe)) {{ tbe.st := s; }}
    if (is_valid(cache_entry)) {{ cache_entry.st := s; }} }}
  AccessPermission getAccessPermission(Addr a) {{
    return L1Cache_State_to_permission(getState(TBEs[a], getEntry(a), a)); }}
  void setAccessPermission(Entry cache_entry, Addr a, State s) {{
    if (is_valid(cache_entry)) {{
      cache_entry.changePermission(L1Cache_State_to_permission(s)); }} }}
  void functionalRead(Addr a, Packet *pkt) {{ testAndRead(a, getEntry(a).DataBlk, pkt); }}
  int functionalWrite(Addr a, Packet *pkt) {{
    int n := 0; n := n + testAndWrite(a, getEntry(a).DataBlk, pkt); return n; }}
  {functions}

  out_port(memory_out, MemoryMsg, requestToMemory);
  {ports}
  in_port(memory_in, MemoryMsg, responseFromMemory, rank=1) {{
    if (memory_in.isReady(clockEdge())) {{ peek(memory_in, MemoryMsg) {{
      trigger(Event:Filled, in_msg.addr, getEntry(in_msg.addr), TBEs[in_msg.addr]); }} }} }}
  in_port(mandatory_in, RubyRequest, mandatoryQueue, rank=0) {{
    if (mandatory_in.isReady(clockEdge())) {{ peek(mandatory_in, RubyRequest) {{
      Entry entry := getEntry(in_msg.LineAddress);
      TBE record := TBEs[in_msg.LineAddress];
      {mandatory}
      if (in_msg.Type == RubyRequestType:LD) {{
        trigger(Event:Load, in_msg.LineAddress, entry, record);
      }} else {{
        trigger(Event:Store, in_msg.LineAddress, entry, record);
      }} }} }} }}

  action(a_ask, "a") {{
    check_allocate(TBEs);
    TBEs.allocate(address); set_tbe(TBEs[address]);
    enqueue(memory_out, MemoryMsg, 1) {{
      out_msg.addr := address; out_msg.Type := MemoryRequestType:MEMORY_READ;
      out_msg.Sender := machineID; out_msg.MessageSize := MessageSizeType:Request_Control; }} }}
  action(f_fill, "f") {{
    set_cache_entry(store.allocate(address, new Entry));
    peek(memory_in, MemoryMsg) {{ cache_entry.DataBlk := in_msg.DataBlk; }}
    TBEs.deallocate(address); unset_tbe();
    memory_in.dequeue(clockEdge()); wakeUpAllBuffers(address); }}
  action(l_load, "l") {{ sequencer.readCallback(address, cache_entry.DataBlk, false); }}
  action(s_store, "s") {{ sequencer.writeCallback(address, cache_entry.DataBlk, false); }}
  action(m_pop, "m") {{ mandatory_in.dequeue(clockEdge()); }}
  action(z_wait, "z") {{ stall_and_wait(mandatory_in, address); }}
  action(n_nothing, "n") {{ }}
  {actions}

  transition(I, {{Load, Store}}, W) {{ a_ask; }}
  transition(W, {{Load, Store}}) {{ z_wait; }}
  transition(W, Filled, V) {{ f_fill; {on_fill} }}
  transition(V, Load {after_load}) {{ {on_load} l_load; m_pop; }}
  transition(V, Store {after_store}) {{ {on_store} s_store; m_pop; }}
  {transitions}
}}
"""
PARTS = (
    "parameters states events types entry tbe objects functions ports mandatory actions "
    "on_fill on_load on_store after_load after_store transitions"
)
TIMER = {
    "states": "H, AccessPermission:Read_Write;",
    "events": "Ring;",
    "after_store": ", H",
    "ports": """
      in_port(timer_in, Addr, timer, rank=2) {
        if (timer_in.isReady(clockEdge())) {
          Addr a := timer.nextAddress();
          trigger(Event:Ring, a, getEntry(a), TBEs[a]); } }""",
    "transitions": """
      transition(H, Ring, V) { u_unset; }
      transition(H, {Load, Store}) { z_wait; }""",
}
"""A line that was stored to is left alone until an alarm of the object ``timer`` rings."""
STEPS = """
  structure(TriggerQueue, external="yes") {
    Event front(); Event back(); bool frontNB(); bool backNB(); bool empty();
    void push(Event); void pushNB(Event); void pushFront(Event); void pushFrontNB(Event);
    void pop(); void emplace(Addr, bool); Retry next(); int size(); }
  structure(ExpectedMap, external="yes") {
    void clear(int); void addExpectedRespType(Kind); void addExpectedDataType(Kind);
    void setExpectedCount(int); void addExpectedCount(int); bool hasExpected();
    bool hasReceivedResp(); bool hasReceivedData(); int expected(); int received();
    bool receiveResp(Kind); bool receiveData(Kind); bool receivedDataType(Kind);
    bool receivedRespType(Kind); }
  structure(TBEStorage, external="yes") {
    int size(); int capacity(); int reserved(); int slotsAvailable();
    bool areNSlotsAvailable(int); void incrementReserved(); void decrementReserved();
    int addEntryToNewSlot(); void addEntryToSlot(int); void removeEntryFromSlot(int); }
"""
QUEUES = {
    "parameters": "MessageBuffer * triggerQueue;",
    "description": "[machine.L1Cache.buffer]\ntriggerQueue = { randomized = false }\n"
    "[machine.L1Cache.parameters]\nnumber_of_TBEs = 3\n",
    "events": 'StepA; StepB; Arrive, in_trans="yes";',
    "states": "H, AccessPermission:Read_Write;",
    "types": """
          enumeration(Kind) { Part; Whole; Never; }
          structure(Retry) { Addr where; bool odd; }
          structure(Step, interface="Message") { Addr addr; bool arrives;
            bool functionalRead(Packet *pkt) { return false; }
            bool functionalWrite(Packet *pkt) { return false; } }"""
    + STEPS,
    "tbe": """
          TriggerQueue actions, template="<L1Cache_Event>"; int slot;
          ExpectedMap expected, template="<Kind,Kind>"; """,
    "objects": """
          TBEStorage slots, constructor="this, m_number_of_TBEs";
          TriggerQueue finished, template="<L1Cache_Retry>"; """,
    "functions": """
          void next(TBE tbe, Addr a) {
            enqueue(trigger_out, Step, 0) { out_msg.addr := a;
              out_msg.arrives := tbe.actions.empty(); } }""",
    "ports": """
          out_port(trigger_out, Step, triggerQueue);
          in_port(trigger_in, Step, triggerQueue, rank=2) {
            if (trigger_in.isReady(clockEdge())) { peek(trigger_in, Step) {
              TBE record := TBEs[in_msg.addr];
              if (in_msg.arrives) {
                trigger(Event:Arrive, in_msg.addr, getEntry(in_msg.addr), record);
              } else {
                trigger(record.actions.front(), in_msg.addr, getEntry(in_msg.addr), record);
              } } } }""",
    "after_store": ", H",
    "on_store": "q_queue;",
    "actions": """
          action(q_queue, "q") {
            check_allocate(slots); check_allocate(TBEs);
            TBEs.allocate(address); set_tbe(TBEs[address]);
            tbe.slot := slots.addEntryToNewSlot();
            slots.addEntryToSlot(tbe.slot); slots.removeEntryFromSlot(tbe.slot);
            slots.incrementReserved(); slots.decrementReserved();
            tbe.actions.push(Event:StepB); tbe.actions.pushFront(Event:StepA);
            tbe.actions.pushNB(Event:StepA); tbe.actions.pushFrontNB(Event:StepB);
            assert(tbe.actions.size() == 4);
            assert(tbe.actions.frontNB() == tbe.actions.backNB());
            tbe.expected.clear(2);
            tbe.expected.addExpectedDataType(Kind:Part);
            tbe.expected.addExpectedRespType(Kind:Whole);
            tbe.expected.setExpectedCount(1); tbe.expected.addExpectedCount(1);
            next(tbe, address); }
          action(p_step, "p") {
            trigger_in.dequeue(clockEdge()); tbe.actions.pop(); next(tbe, address); }
          action(r_arrive, "r") {
            trigger_in.dequeue(clockEdge());
            assert(tbe.expected.expected() == 2);
            assert(tbe.expected.receiveData(Kind:Never) == false);
            assert(tbe.expected.receiveData(Kind:Part) && tbe.expected.hasReceivedData() == false);
            assert(tbe.expected.receiveData(Kind:Part) && tbe.expected.hasReceivedData());
            assert(tbe.expected.receiveResp(Kind:Whole) && tbe.expected.hasExpected() == false);
            assert(tbe.expected.receivedRespType(Kind:Whole));
            slots.removeEntryFromSlot(tbe.slot);
            TBEs.deallocate(address); unset_tbe();
            finished.emplace(address, slots.size() == 1);
            if (finished.size() > 5) {
              Retry oldest := finished.next();
              assert(oldest.where == makeLineAddress(oldest.where));
              finished.pop(); }
            wakeUpAllBuffers(address); }""",
    "transitions": """
          transition(H, {StepA, StepB}) { p_step; }
          transition(H, Arrive, V) { r_arrive; }
          transition(H, {Load, Store}) { z_wait; }""",
}
"""A store is followed by a list of steps that a record holds, and by messages that it expects."""
DESCRIPTION = """
[machine.L1Cache]
count = 1
{more}
[requester.cpu]
machine = "L1Cache"
[agents.cpu]
requester = "cpu"
wavefronts = 3
lanes = 2
"""


def write(directory: Path, description: str = "", **parts: str) -> Path:
    """The protocol's files; returns the driver."""
    given = {**dict.fromkeys(PARTS.split(), ""), **parts}
    assert len(given) == len(PARTS.split()), sorted(given)
    (directory / "Solo.slicc").write_text(FRAME, encoding="utf-8")
    machine = MACHINE.format(**given)
    (directory / "Solo.sm").write_text(machine, encoding="utf-8")
    text = DESCRIPTION.format(more=description)
    (directory / "Solo.toml").write_text(text, encoding="utf-8")
    return directory / "Solo.slicc"


def check(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    reaches: Sequence[str],
    verdict: str = "",
    legs: int = 3,
    **parts: str,
) -> list[Summary]:
    """Run it on both engines. ``reaches``: events that must have happened; ``verdict``: what
    every leg ends in, if they are not to pass."""
    protocol = load(directory, monkeypatch, **parts)
    return run(protocol, reaches, verdict, legs)


def load(directory: Path, monkeypatch: pytest.MonkeyPatch, **parts: str) -> LoadedProtocol:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory.parent / "solo-cache"))
    return load_protocol(str(write(directory, **parts)), native=True)


def run(
    protocol: LoadedProtocol,
    reaches: Sequence[str],
    verdict: str = "",
    legs: int = 3,
    **parameters: object,
) -> list[Summary]:
    """``parameters``: of the machine, besides what the legs draw."""
    engine = native_engine(protocol).native
    assert engine is not None
    sampler = random.Random(1)
    fixed = {f"machine.L1Cache.parameters.{name}": each for name, each in parameters.items()}
    reached: set[str] = set()
    summaries = []
    for _ in range(legs):
        options = Options(
            sampler.randrange(1 << 30),
            60,
            assignments={"machine.L1Cache.count": 1, **fixed},
            leg_episodes=60,
        )
        campaign = Campaign(protocol, options)
        leg = replace(campaign.plan(sampler.randrange(14)).leg, deadlock_limit=20_000)
        mine, _ = run_natively(protocol, engine, leg)
        theirs, python = run_in_python(protocol, leg)
        error = python.outcome.error
        assert mine == theirs
        assert ("" if error is None else error.kind.value) == verdict, error or mine.finding
        assert verdict or not mine.finding, mine.finding
        for counts in mine.counts.values():
            reached |= {event for (_, event), count in counts.items() if count}
        summaries.append(mine)
    assert set(reaches) <= reached, reached
    return summaries
