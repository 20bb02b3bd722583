"""A small protocol with places for the examples of the pages of `slicc explain`.

An example is a few lines of an action, a machine, a structure, ...: in the protocol below it takes
the place that its page means. Invariant: with the default text in every place the protocol has no
finding at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Final

PROTOCOL: Final = Template("""\
$name
enumeration(CoherenceRequestType, default="CoherenceRequestType_GETS") { GETS; GETX; INV; }
$types
structure(RequestMsg, interface="Message") {
  Addr LineAddress;
  CoherenceRequestType Type;
  MachineID Sender;
  int Acks, default="0";
$fields
  DataBlock DataBlk;
  NetDest Destination;
  MessageSizeType MessageSize;
  bool functionalRead(Packet *pkt) { return testAndRead(LineAddress, DataBlk, pkt); }
  bool functionalWrite(Packet *pkt) { return testAndWrite(LineAddress, DataBlk, pkt); }
}
$machine
$more_machines
""")

MACHINE: Final = Template("""\
machine(MachineType:L1Cache, "cache")
  : CacheMemory * cacheMemory;
    MessageBuffer * requestToDir, network="To", virtual_network="1", vnet_type="request";
    MessageBuffer * requestFromDir, network="From", virtual_network="1", vnet_type="request";
$parameters
{
$machine_types
  state_declaration(State, default="L1Cache_State_I") {
    I, AccessPermission:Invalid;
    IS, AccessPermission:Busy;
    S, AccessPermission:Read_Only;
$states
  }
  enumeration(Event) {
    Load;
    Data;
    Inv;
$events
  }
$entry
$tbe
  TBETable TBEs, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
$objects
  Tick clockEdge();
  void set_cache_entry(AbstractCacheEntry e);
  void unset_cache_entry();
  void set_tbe(TBE t);
  void unset_tbe();
  void wakeUpAllBuffers(Addr a);
  void wakeUpBuffers(Addr a);

  Entry getCacheEntry(Addr a), return_by_pointer="yes" {
    return static_cast(Entry, "pointer", cacheMemory.lookup(a));
  }
$getState
  void setState(TBE tbe, Entry cache_entry, Addr a, State s) {
    if (is_valid(tbe)) { tbe.TBEState := s; }
    if (is_valid(cache_entry)) { cache_entry.CacheState := s; }
  }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:NotPresent; }
  void setAccessPermission(Entry cache_entry, Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { functionalMemoryRead(pkt); }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }
$functions

  out_port(requestNetwork_out, RequestMsg, requestToDir);
$ports
  in_port(request_in, RequestMsg, requestFromDir, rank=0) {
    if (request_in.isReady(clockEdge())) {
      peek(request_in, RequestMsg) {
        Entry cache_entry := getCacheEntry(in_msg.LineAddress);
        TBE tbe := TBEs[in_msg.LineAddress];
$triggers
      }
    }
  }

  action(a_issueRequest, "a") {
    enqueue(requestNetwork_out, RequestMsg, 1) {
      out_msg.LineAddress := address;
      out_msg.Sender := machineID;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:L1Cache));
      out_msg.MessageSize := MessageSizeType:Request_Control;
$sent
    }
$request
  }
  action(p_popQueue, "p") {
    request_in.dequeue(clockEdge());
  }
  action(u_update, "u") {
    peek(request_in, RequestMsg) {
      tbe.Acks := in_msg.Acks;
$message
    }
  }
  action(w_work, "w") {
    tbe.Acks := 0;
$statements
  }
$actions

$transitions
}
""")

DEFAULTS: Final[Mapping[str, str]] = {
    "name": 'protocol "Page";',
    "types": "",
    "fields": "",
    "more_machines": "",
    "parameters": "",
    "machine_types": "",
    "states": "",
    "events": "",
    "entry": """\
  structure(Entry, interface="AbstractCacheEntry") {
    State CacheState;
    DataBlock DataBlk;
  }
    """,
    "tbe": """\
  structure(TBE) {
    State TBEState;
    int Acks, default="0";
    MachineID Sender;
    DataBlock DataBlk;
  }
    """,
    "objects": "",
    "getState": """\
  State getState(TBE tbe, Entry cache_entry, Addr a) {
    if (is_valid(tbe)) { return tbe.TBEState; }
    if (is_valid(cache_entry)) { return cache_entry.CacheState; }
    return State:I;
  }
    """,
    "functions": "",
    "ports": "",
    "triggers": """\
        if (in_msg.Type == CoherenceRequestType:GETS) {
          trigger(Event:Load, in_msg.LineAddress, cache_entry, tbe);
        } else if (in_msg.Type == CoherenceRequestType:GETX) {
          trigger(Event:Data, in_msg.LineAddress, cache_entry, tbe);
        } else {
          trigger(Event:Inv, in_msg.LineAddress, cache_entry, tbe);
        }
    """,
    "sent": "",
    "request": "",
    "message": "",
    "statements": "",
    "actions": "",
    "transitions": """\
  transition(I, Load, IS) { a_issueRequest; p_popQueue; }
  transition(IS, Data, S) { u_update; w_work; p_popQueue; }
  transition({IS, S}, Inv, I) { p_popQueue; }
    """,
}

SMALLEST: Final = {
    "states": "state_declaration(State) { I, AccessPermission:Invalid; }",
    "events": "enumeration(Event) { Load; }",
    "getState": "State getState(Addr a) { return State:I; }",
    "setState": "void setState(Addr a, State s) { }",
    "getAccessPermission": "AccessPermission getAccessPermission(Addr a) "
    "{ return AccessPermission:Invalid; }",
    "setAccessPermission": "void setAccessPermission(Addr a, State s) { }",
    "functionalRead": "void functionalRead(Addr a, Packet *pkt) { }",
    "functionalWrite": "int functionalWrite(Addr a, Packet *pkt) { return 0; }",
}
"""What every machine has."""


def smallest(without: str = "") -> str:
    """The inside of the smallest machine, in one line."""
    return " ".join(text for part, text in SMALLEST.items() if part != without)


def protocol(**places: str) -> str:
    """The text with these places filled; the others keep what stands there.

    ``machine`` replaces the machine as a whole.
    """
    filled = {**DEFAULTS, **places}
    machine = filled.pop("machine", None) or MACHINE.substitute(filled)
    return PROTOCOL.substitute(filled, machine=machine)
