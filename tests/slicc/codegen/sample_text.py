"""What an author would have written: it only serves the places of the nodes of `sample_ir`."""

from __future__ import annotations

from slicc.source import SourceFile, Span

TEXT = '''\
machine(MachineType:L1Cache, "A cache that asks") : CacheMemory * frames; Cycles latency := 3;
  MessageBuffer * toHome, network="To", virtual_network="0", vnet_type="request";
  MessageBuffer * fromHome, network="From", virtual_network="1", vnet_type="response";
  MessageBuffer * mandatoryQueue;
{
  state_declaration(State) { I, desc="Not here"; B, desc="Asked for"; V, desc="Here"; }
  enumeration(Event) { Ask, desc="Wanted"; Fill, desc="It has come"; None, desc="Never"; }
  enumeration(RequestType) { TagRead; }
  structure(Entry) { State CacheState; DataBlock DataBlk; }
  structure(TBE) { int pending; NetDest Sharers; }
  TBETable TBEs, constructor="m_number_of_TBEs";
  State getState(TBE tbe, Entry cache_entry, Addr addr) {
    if (is_valid(tbe)) { return State:B; }
    if (is_valid(cache_entry)) { return cache_entry.CacheState; }
    return State:I;
  }
  void setState(TBE tbe, Entry cache_entry, Addr addr, State state) {
    if (is_valid(cache_entry)) { cache_entry.CacheState := state; }
  }
  void setAccessPermission(Entry cache_entry, Addr addr, State state) { }
  bool checkResourceAvailable(RequestType request_type, Addr addr) {
    return frames.checkResourceAvailable(CacheResourceType:TagArray, addr);
  }
  void recordRequestType(RequestType request_type, Addr addr) { }
  out_port(home_out, AskMsg, toHome);
  in_port(home_in, FillMsg, fromHome, rank=1, desc="Lines") {
    if (home_in.isReady(clockEdge())) { peek(home_in, FillMsg) {
      trigger(Event:Fill, in_msg.addr, frames.lookup(in_msg.addr), TBEs[in_msg.addr]); } }
  }
  in_port(mandatoryQueue_in, RubyRequest, mandatoryQueue, rank=0) {
    if (mandatoryQueue_in.isReady(clockEdge())) {
      peek(mandatoryQueue_in, RubyRequest, block_on="LineAddress") {
        trigger(Event:Ask, in_msg.LineAddress,
                frames.lookup(in_msg.LineAddress), TBEs[in_msg.LineAddress]); } }
  }
  action(a_ask, "a", desc="Ask the home for the line") {
    enqueue(home_out, AskMsg, latency) {
      out_msg.addr := address;
      out_msg.hops := out_msg.hops + 1;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
    }
  }
  action(b_begin, "b", desc="Open a TBE, and a frame") {
    check_allocate(TBEs); TBEs.allocate(address); set_tbe(TBEs[address]);
  }
  action(c_check, "c", desc="Divide by what nothing \\"""counts\\""" \\\\ yet") {
    DPRINTF(RubySlicc, "pending %d of %s\\n", tbe.pending, State:B);
    APPEND_TRANSITION_COMMENT(State:B);
    if (tbe.pending / 2 > 4) { error("too many"); }
    else if (tbe.pending == 7) { assert(is_valid(cache_entry)); }
    cache_entry.CacheState := State:V;
  }
  action(e_end, "e", desc="Close the TBE") { TBEs.deallocate(address); unset_tbe(); }
  action(f_popFill, "f") { home_in.dequeue(clockEdge()); }
  action(p_popAsk, "p") { mandatoryQueue_in.dequeue(clockEdge()); }
  action(w_wait, "w") { stall_and_wait(mandatoryQueue_in, address); }
  transition(I, Ask, B) { TagRead } { b_begin; a_ask; p_popAsk; }
  transition(B, Ask) { w_wait; }
  transition(V, Ask) { z_stall; }
  transition(B, Fill, V) { c_check; e_end; f_popFill; }
}
machine(MachineType:Directory, "The home")
  : MessageBuffer * asks, network="From", virtual_network="0", vnet_type="request"; {
  state_declaration(State) { U; }
  enumeration(Event) { Ask; }
  State getState(Addr addr) { return State:U; }
  void setState(Addr addr, State state) { }
  void setAccessPermission(Addr addr, State state) { }
  in_port(asks_in, AskMsg, asks) { peek(asks_in, AskMsg) { trigger(Event:Ask, in_msg.addr); } }
  action(p_pop, "p") { asks_in.dequeue(clockEdge()); }
  transition(U, Ask) { p_pop; }
}
structure(AskMsg, interface="Message") { Addr addr; int hops; NetDest Destination;
  bool functionalRead(Packet *pkt) { return false; } }
structure(FillMsg, interface="Message") { Addr addr; DataBlock DataBlk; }
structure(Pair) { int left; NetDest right; }
'''

FILE = SourceFile("/somewhere/else/toy.sm", TEXT)


def at(snippet: str) -> Span:
    """The first place of a piece of the text."""
    start = TEXT.index(snippet)
    return Span(FILE, start, start + len(snippet))
