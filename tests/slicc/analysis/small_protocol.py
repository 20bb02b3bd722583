"""A protocol without findings, of which every page of the analysis changes one line.

A cache asks home for the line, gets it in two parts, uses it and returns it; home lends it to one
cache at a time. Invariant: what a page shows as right stands in it word for word.
"""

from __future__ import annotations

from typing import Final

SMALL: Final = """\
enumeration(Urgency) { Low; }
structure(Asking, interface="Message") {
  Addr addr;
  MachineID Sender;
  Urgency urgency;
  NetDest Destination;
  MessageSizeType MessageSize, default="MessageSizeType_Control";
  bool functionalRead(Packet *pkt) { return false; }
  bool functionalWrite(Packet *pkt) { return false; }
}
structure(Giving, interface="Message") {
  Addr addr;
  bool last;
  NetDest Destination;
  MessageSizeType MessageSize, default="MessageSizeType_Data";
  bool functionalRead(Packet *pkt) { return false; }
  bool functionalWrite(Packet *pkt) { return false; }
}
machine(MachineType:L1Cache, "cache")
  : Sequencer * sequencer;
    Cycles latency := 1;
    MessageBuffer * toHome, network="To", virtual_network="0", vnet_type="request";
    MessageBuffer * returnToHome, network="To", virtual_network="2", vnet_type="response";
    MessageBuffer * fromHome, network="From", virtual_network="1", vnet_type="response";
    MessageBuffer * mandatoryQueue;
{
  state_declaration(State, default="L1Cache_State_I") {
    I, AccessPermission:Invalid, desc="not here";
    W, AccessPermission:Busy, desc="asked for";
  }
  enumeration(Event) { Load; Store; Fetch; Other; Part; LastPart; }
  structure(TBE) { State TBEState; int parts, default="0"; DataBlock DataBlk; }
  TBETable TBEs, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  DataBlock block;
  Tick clockEdge();
  void set_tbe(TBE t);
  void unset_tbe();

  State getState(TBE tbe, Addr a) { if (is_valid(tbe)) { return tbe.TBEState; } return State:I; }
  void setState(TBE tbe, Addr a, State s) { if (is_valid(tbe)) { tbe.TBEState := s; } }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:NotPresent; }
  void setAccessPermission(Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { functionalMemoryRead(pkt); }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }

  out_port(ask_out, Asking, toHome);
  out_port(return_out, Giving, returnToHome);
  in_port(part_in, Giving, fromHome) {
    if (part_in.isReady(clockEdge())) {
      peek(part_in, Giving) {
        TBE known := TBEs[in_msg.addr];
        if (known.parts == 1) {
          trigger(Event:LastPart, in_msg.addr, TBEs[in_msg.addr]);
        } else {
          trigger(Event:Part, in_msg.addr, TBEs[in_msg.addr]);
        }
      }
    }
  }
  in_port(request_in, RubyRequest, mandatoryQueue) {
    if (request_in.isReady(clockEdge())) {
      peek(request_in, RubyRequest) {
        TBE tbe := TBEs[in_msg.LineAddress];
        if (in_msg.Type == RubyRequestType:LD) {
          trigger(Event:Load, in_msg.LineAddress, tbe);
        } else if (in_msg.Type == RubyRequestType:ST) {
          trigger(Event:Store, in_msg.LineAddress, tbe);
        } else if (in_msg.Type == RubyRequestType:IFETCH) {
          trigger(Event:Fetch, in_msg.LineAddress, tbe);
        } else {
          trigger(Event:Other, in_msg.LineAddress, tbe);
        }
      }
    }
  }

  action(q_ask, "q") {
    enqueue(ask_out, Asking, latency) {
      out_msg.addr := address;
      out_msg.Sender := machineID;
      out_msg.urgency := Urgency:Low;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
    }
  }
  action(r_return, "r") {
    enqueue(return_out, Giving, latency) {
      out_msg.addr := address;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
    }
  }
  action(a_allocate, "a") {
    check_allocate(TBEs);
    TBEs.allocate(address);
    set_tbe(TBEs[address]); tbe.parts := 2;
  }
  action(f_free, "f") { TBEs.deallocate(address); unset_tbe(); }
  action(c_count, "c") { tbe.parts := tbe.parts - 1; }
  action(d_done, "d") { sequencer.readCallback(address, tbe.DataBlk); }
  action(z_stall, "z") { }
  action(h_hit, "h") { sequencer.readCallback(address, block); }
  action(p_popPart, "p") { part_in.dequeue(clockEdge()); }
  action(p_popRequest, "pr") { request_in.dequeue(clockEdge()); }

  transition(I, Load, W) { a_allocate; q_ask; p_popRequest; }
  transition(I, Store, W) { a_allocate; q_ask; p_popRequest; }
  transition(I, Fetch, W) { a_allocate; q_ask; p_popRequest; }
  transition(I, Other, W) { a_allocate; q_ask; p_popRequest; }
  transition(W, Load) { z_stall; }
  transition(W, Part) { c_count; p_popPart; }
  transition(W, LastPart, I) { d_done; r_return; f_free; p_popPart; }
}
machine(MachineType:Directory, "home")
  : Cycles latency := 1;
    MessageBuffer * fromCache, network="From", virtual_network="0", vnet_type="request";
    MessageBuffer * returnFromCache, network="From", virtual_network="2", vnet_type="response";
    MessageBuffer * toCache, network="To", virtual_network="1", vnet_type="response";
{
  state_declaration(State, default="Directory_State_F") {
    F, AccessPermission:Read_Write, desc="free";
    L, AccessPermission:Busy, desc="lent";
  }
  enumeration(Event) { Ask; Return; }
  State now;
  Tick clockEdge();
  void wakeUpAllBuffers(Addr a);
  State getState(Addr a) { return now; }
  void setState(Addr a, State s) { now := s; }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:NotPresent; }
  void setAccessPermission(Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { functionalMemoryRead(pkt); }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }

  out_port(part_out, Giving, toCache);
  in_port(return_in, Giving, returnFromCache) {
    if (return_in.isReady(clockEdge())) {
      peek(return_in, Giving) {
        assert(in_msg.last == false);
        trigger(Event:Return, in_msg.addr);
      }
    }
  }
  in_port(ask_in, Asking, fromCache) {
    if (ask_in.isReady(clockEdge())) {
      peek(ask_in, Asking) { trigger(Event:Ask, in_msg.addr); }
    }
  }
  action(s_sendParts, "s") {
    peek(ask_in, Asking) {
      enqueue(part_out, Giving, latency) {
        out_msg.addr := address;
        out_msg.Destination.add(in_msg.Sender);
      }
      enqueue(part_out, Giving, latency) {
        out_msg.addr := address;
        out_msg.last := true;
        out_msg.Destination.add(in_msg.Sender);
      }
    }
  }
  action(z_wait, "z") { stall_and_wait(ask_in, address); }
  action(w_wakeAsks, "w") { wakeUpAllBuffers(address); }
  action(p_popAsk, "pa") { ask_in.dequeue(clockEdge()); }
  action(p_popReturn, "pr") { return_in.dequeue(clockEdge()); }

  transition(F, Ask, L) { s_sendParts; p_popAsk; }
  transition(L, Ask) { z_wait; }
  transition(L, Return, F) { p_popReturn; w_wakeAsks; }
}
"""
