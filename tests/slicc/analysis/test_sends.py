"""What actions send, as tables of textbooks name it."""

from __future__ import annotations

import pytest

from slicc.analysis.facts import MachineFacts
from slicc.analysis.sends import Send, sends_of
from slicc.compiler import compile_text

TEXT = """
enumeration(Kind, default="Kind_Ask") { Ask; Tell; Go; }
structure(Msg, interface="Message") {
  Addr addr; MessageSizeType MessageSize; Kind Type; NetDest Destination; MachineID Requestor;
}
machine(MachineType:L1Cache, "x")
  : MessageBuffer * out, network="To", virtual_network="3", vnet_type="request";
    MessageBuffer * in, network="From", virtual_network="3", vnet_type="request";
    MessageBuffer * own;
{
  state_declaration(State) { I, AccessPermission:Invalid; }
  enumeration(Event) { E; }
  State getState(Addr addr) { return State:I; }
  void setState(Addr addr, State state) { }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:Invalid; }
  void setAccessPermission(Addr addr, State state) { }
  void functionalRead(Addr addr, Packet *pkt) { }
  int functionalWrite(Addr addr, Packet *pkt) { return 0; }
  out_port(net, Msg, out);
  out_port(self, Msg, own);
  in_port(net_in, Msg, in) {
    if (net_in.isReady(clockEdge())) { peek(net_in, Msg) { trigger(Event:E, in_msg.addr); } }
  }
  void sendBoth(Addr addr) {
    enqueue(net, Msg, 1) {
      out_msg.Type := Kind:Tell;
      if (addr == makeLineAddress(addr)) { out_msg.Type := Kind:Go; }
      out_msg.Destination.broadcast(MachineType:L1Cache);
    }
  }
  action(a_ask, "a") {
    enqueue(net, Msg, 1) {
      out_msg.Type := Kind:Ask;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
    }
  }
  action(b_answer, "b") {
    peek(net_in, Msg) {
      enqueue(net, Msg, 1) {
        out_msg.Type := in_msg.Type;
        out_msg.Destination.add(in_msg.Requestor);
      }
    }
  }
  action(c_call, "c") { sendBoth(address); }
  action(d_own, "d") { enqueue(self, Msg, 1) { out_msg.addr := address; } }
  MachineID homeOf(Addr addr) { return mapAddressToMachine(addr, MachineType:Directory); }
  MachineID asked(Addr addr) { return homeOf(addr); }
  action(h_home, "h") { enqueue(net, Msg, 1) { out_msg.Destination.add(asked(address)); } }
  action(e_nothing, "e") { net_in.dequeue(clockEdge()); }
  transition(I, E) { a_ask; b_answer; c_call; d_own; h_home; e_nothing; }
}
"""


@pytest.fixture(scope="module")
def sends() -> dict[str, tuple[Send, ...]]:
    protocol = compile_text(TEXT)
    assert protocol is not None
    found = sends_of(MachineFacts(protocol, protocol.machines[0]))
    return {ref.name: each for ref, each in found.items()}


@pytest.mark.parametrize(
    ("action", "text", "network", "machines"),
    [
        ("a_ask", "Ask to Directory", 3, ("Directory",)),
        ("b_answer", "in_msg.Type to Requestor", 3, ()),
        ("c_call", "Tell or Go to every L1Cache", 3, ("L1Cache",)),
        ("d_own", "Msg to own", None, ()),
        ("h_home", "Msg to Directory", 3, ("Directory",)),
    ],
)
def test_a_message_and_its_receivers(
    sends: dict[str, tuple[Send, ...]],
    action: str,
    text: str,
    network: int | None,
    machines: tuple[str, ...],
) -> None:
    (send,) = sends[action]
    assert (send.text, send.network, send.machines) == (text, network, machines)


def test_what_sends_nothing_is_there(sends: dict[str, tuple[Send, ...]]) -> None:
    assert sends["e_nothing"] == ()
