"""Protocols that work without end: each way is a number of one parameter of a small protocol.

The machine of :mod:`tests.tester.native.solo` answers every request, whatever runs away beside it,
but for those of `UNANSWERED`. A second machine sends back what it gets.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from tests.compiling import CHECKED
from tests.tester.native import solo

WAYS = {
    "multiply": ("too_many_messages", "Multiply in V", "Token"),
    "self at latency 0": ("too_many_transitions", "Again in V", "Token"),
    "self at latency 1": ("too_many_transitions", "Again in V", "Token"),
    "no pop": ("too_many_transitions", "Stuck in V", "Token"),
    "recycle": ("too_many_transitions", "Recycle in V", "Token"),
    "timer": ("too_many_transitions", "Alarm in V", ""),
    "stall and wake by a timer": ("too_many_transitions", "Wait in V", "Token"),
    "stall and wake in a port": ("too_many_transitions", "passes over the ports", ""),
    "z_stall": ("too_many_transitions", "stalls Held in V", "Token"),
    "event of the next cycle": ("too_many_transitions", "looks at port self_in", "Token"),
    "event of this cycle": ("too_many_transitions", "looks at port self_in", "Token"),
    "memory": ("too_many_transitions", "Filled in V", "MEMORY_READ"),
    "ping-pong": ("too_many_transitions", "Pong in V", "Pong"),
    "messages that two machines multiply": ("too_many_messages", "Pong in V", "Pong"),
    "negative acknowledgement": ("too_many_transitions", "in Never", "L1Cache0.mandatoryQueue"),
}
"""By way: the kind of error, and what it names beside the machine."""
NUMBERS = {way: number for number, way in enumerate(WAYS, 1)}
UNANSWERED = "negative acknowledgement"

_TYPES = """
structure(TimerTable, external="yes") {
  bool isReady(Tick); Addr nextAddress(); void set(Addr, Tick); void unset(Addr);
  bool isSet(Addr); }
"""
_TOKENS = """
enumeration(TokenType) { Token; Ping; Pong; }
structure(TokenMsg, interface="Message") {
  Addr addr; TokenType Type; MachineID Sender; NetDest Destination; MessageSizeType MessageSize;
  bool functionalRead(Packet *pkt) { return false; }
  bool functionalWrite(Packet *pkt) { return false; } }
"""
_START = "if (started == false) { started := true; %s }"


def _send(port: str, kind: str, latency: str, destination: str = "") -> str:
    return f"""enqueue({port}, TokenMsg, {latency}) {{
      out_msg.addr := address; out_msg.Type := TokenType:{kind}; {destination}
      out_msg.Sender := machineID; out_msg.MessageSize := MessageSizeType:Control; }}"""


def _token(latency: str) -> str:
    return _send("self_out", "Token", latency)


_TO_ECHO = "out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));"
_ASK = """enqueue(memory_out, MemoryMsg, 1) {
  out_msg.addr := address; out_msg.Type := MemoryRequestType:MEMORY_READ;
  out_msg.Sender := machineID; out_msg.MessageSize := MessageSizeType:Request_Control; }"""


def _when(*ways: str) -> str:
    return " || ".join(f"which == {NUMBERS[way]}" for way in ways)


_STARTS = f"""
  if ({_when("memory")}) {{ {_ASK} }}
  else {{ if ({_when("ping-pong", "messages that two machines multiply")}) {{
    {_send("echo_out", "Ping", "1", _TO_ECHO)} }}
  else {{ if ({_when("timer", "stall and wake by a timer")}) {{
    alarms.set(address, clockEdge() + cyclesToTicks(intToCycles(1))); }}
    if (which > 0) {{ {_token("1")} }} }} }}
"""
_TRIGGERS = {
    "Multiply": ("multiply",),
    "Again": ("self at latency 0", "self at latency 1"),
    "Stuck": ("no pop",),
    "Recycle": ("recycle",),
    "Wait": ("stall and wake by a timer",),
    "Held": ("z_stall",),
    "Drop": ("timer",),
}
_PORTS = (
    f"""
  out_port(self_out, TokenMsg, selfQueue);
  out_port(echo_out, TokenMsg, toEcho);
  in_port(alarm_in, Addr, alarms, rank=4) {{
    if (alarm_in.isReady(clockEdge())) {{
      trigger(Event:Alarm, alarms.nextAddress(), getEntry(alarms.nextAddress()),
              TBEs[alarms.nextAddress()]); }} }}
  in_port(echo_in, TokenMsg, fromEcho, rank=3) {{
    if (echo_in.isReady(clockEdge())) {{ peek(echo_in, TokenMsg) {{
      trigger(Event:Pong, in_msg.addr, getEntry(in_msg.addr), TBEs[in_msg.addr]); }} }} }}
  in_port(self_in, TokenMsg, selfQueue, rank=2) {{
    if (self_in.isReady(clockEdge())) {{ peek(self_in, TokenMsg) {{
      if ({_when("stall and wake in a port")}) {{
        Addr line := in_msg.addr; stall_and_wait(self_in, line); wakeUpAllBuffers(line); }}
      if ({_when("event of the next cycle")}) {{ scheduleEvent(intToCycles(1)); }}
      if ({_when("event of this cycle")}) {{ scheduleEvent(intToCycles(0)); }}
"""
    + "".join(
        f"""
      if ({_when(*ways)}) {{
        trigger(Event:{event}, in_msg.addr, getEntry(in_msg.addr), TBEs[in_msg.addr]); }}"""
        for event, ways in _TRIGGERS.items()
    )
    + "}} }} }}".replace("}}", "}")
)
_ACTIONS = f"""
  action(w_start, "ws") {{ {_START % _STARTS} }}
  action(t_two, "t2") {{ {_token("1")} {_token("2")} }}
  action(t_one, "t1") {{
    if ({_when("self at latency 0")}) {{ {_token("0")} }} else {{ {_token("1")} }} }}
  action(t_pop, "tp") {{ self_in.dequeue(clockEdge()); }}
  action(t_recycle, "tr") {{ self_in.recycle(clockEdge(), cyclesToTicks(recycle_latency)); }}
  action(t_wait, "tw") {{ stall_and_wait(self_in, address); }}
  action(t_rearm, "ta") {{ alarms.unset(address);
    alarms.set(address, clockEdge() + cyclesToTicks(intToCycles(1))); }}
  action(t_wake, "tk") {{ wakeUpAllBuffers(address); }}
  action(r_again, "ra") {{
    if ({_when("memory")}) {{ {_ASK} }} memory_in.dequeue(clockEdge()); }}
  action(e_again, "ea") {{ {_send("echo_out", "Ping", "1", _TO_ECHO)} }}
  action(e_pop, "ep") {{ echo_in.dequeue(clockEdge()); }}
  action(z_stall, "z2") {{ }}
  action(k_retry, "kr") {{
    mandatory_in.recycle(clockEdge(), cyclesToTicks(intToCycles(1))); }}
"""
_ALL = "{I, W, V, Never}"
_TRANSITIONS = f"""
  transition({_ALL}, Multiply) {{ t_two; t_pop; }}
  transition({_ALL}, Again) {{ t_one; t_pop; }}
  transition({_ALL}, Stuck) {{ n_nothing; }}
  transition({_ALL}, Recycle) {{ t_recycle; }}
  transition({_ALL}, Wait) {{ t_wait; }}
  transition({_ALL}, Held) {{ z_stall; }}
  transition({_ALL}, Drop) {{ t_pop; }}
  transition({_ALL}, Alarm) {{ t_rearm; t_wake; }}
  transition({_ALL}, Pong) {{ e_again; e_pop; }}
  transition(V, Filled) {{ r_again; }}
  transition(Never, {{Load, Store}}) {{ k_retry; }}
"""
_ECHO = """
machine(MachineType:Directory, "Sends back what it gets")
  : int times := 1;
    MessageBuffer * fromCache, network="From", virtual_network="0", vnet_type="request";
    MessageBuffer * toCache, network="To", virtual_network="1", vnet_type="response";
{
  state_declaration(State, default="Directory_State_I") { I, AccessPermission:Invalid; }
  enumeration(Event) { Echo; }
  Tick clockEdge();
  State getState(Addr a) { return State:I; }
  void setState(Addr a, State s) { }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:Invalid; }
  void setAccessPermission(Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }
  out_port(back_out, TokenMsg, toCache);
  in_port(ping_in, TokenMsg, fromCache) {
    if (ping_in.isReady(clockEdge())) { peek(ping_in, TokenMsg) {
      trigger(Event:Echo, in_msg.addr); } } }
  action(b_back, "b") { peek(ping_in, TokenMsg) {
    enqueue(back_out, TokenMsg, 1) {
      out_msg.addr := address; out_msg.Type := TokenType:Pong;
      out_msg.Destination.add(in_msg.Sender); out_msg.MessageSize := MessageSizeType:Control; }
    if (times > 1) { enqueue(back_out, TokenMsg, 2) {
      out_msg.addr := address; out_msg.Type := TokenType:Pong;
      out_msg.Destination.add(in_msg.Sender); out_msg.MessageSize := MessageSizeType:Control; } }
    } }
  action(p_pop, "p") { ping_in.dequeue(clockEdge()); }
  transition(I, Echo) { b_back; p_pop; }
}
"""


def write(directory: Path) -> Path:
    """The protocol's files; returns the driver."""
    driver = solo.write(
        directory,
        "[machine.Directory]\ncount = 1\n",
        parameters="""int which := 0; Cycles recycle_latency := 10; MessageBuffer * selfQueue;
          MessageBuffer * toEcho, network="To", virtual_network="0", vnet_type="request";
          MessageBuffer * fromEcho, network="From", virtual_network="1", vnet_type="response";""",
        states="Never, AccessPermission:Busy;",
        events="Multiply; Again; Stuck; Recycle; Wait; Held; Drop; Alarm; Pong;",
        types=_TYPES,
        objects='TimerTable alarms; bool started, default="false";',
        functions="void scheduleEvent(Cycles c);",
        ports=_PORTS,
        actions=_ACTIONS,
        on_load="w_start;",
        on_fill="",
        transitions=_TRANSITIONS,
    )
    path = directory / "Solo.sm"
    machine = path.read_text(encoding="utf-8")
    unanswered = f"""    if ({_when(UNANSWERED)}) {{ return State:Never; }}
    if (is_valid(tbe)) {{ return tbe.st; }}"""
    machine = machine.replace("    if (is_valid(tbe)) { return tbe.st; }", unanswered, 1)
    path.write_text(_TOKENS + machine + _ECHO, encoding="utf-8")
    return driver


def load(directory: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedProtocol:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory.parent / "solo-cache"))
    return load_protocol(str(write(directory)), native=True)
