"""What the tests of this backend need: a small protocol around a few lines, and a compiler."""

from __future__ import annotations

import re
from pathlib import Path

from slicc import ir
from slicc.codegen.cpp import Package, package
from slicc.compiler import compile_text
from slicc.diagnostics.model import DiagnosticSink
from tests.compiling import ROOT as ROOT
from tests.compiling import STRICT, WARNINGS, compile_unit

FRAME = """
{types}
structure(Note, interface="Message", desc="A {desc}") {{
  Addr addr; int count; bool last; NetDest Destination; MessageSizeType MessageSize;
  DataBlock DataBlk; WriteMask mask; MachineID from;
  bool functionalRead(Packet *pkt) {{ return false; }}
  bool functionalWrite(Packet *pkt) {{ return false; }}
}}
machine(MachineType:L1Cache, "{title}")
  : CacheMemory * cache; Sequencer * sequencer; Cycles lat := 3; {parameters}
    MessageBuffer * rx, network="From", virtual_network="0", vnet_type="request";
    MessageBuffer * tx, network="To", virtual_network="1", vnet_type="response";
    MessageBuffer * inner;
{{
  state_declaration(State, default="L1Cache_State_I") {{
    I, AccessPermission:Invalid, desc="{desc}"; M, AccessPermission:Read_Write; {states} }}
  enumeration(Event) {{ Go, desc="{desc}"; Stop; {events} }}
  structure(Entry, interface="AbstractCacheEntry") {{ State st; DataBlock DataBlk; {entry} }}
  structure(TBE) {{ State st; int n; DataBlock DataBlk; NetDest Sharers; {tbe} }}
  structure(TBETable, external="yes") {{
    TBE lookup(Addr); void allocate(Addr); void deallocate(Addr); bool isPresent(Addr); }}
  TBETable T, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  {objects}
  Tick clockEdge(); Cycles curCycle(); void set_tbe(TBE t); void unset_tbe();
  void set_cache_entry(AbstractCacheEntry e); void unset_cache_entry();
  void wakeUpAllBuffers(Addr a);
  Entry getEntry(Addr a), return_by_pointer="yes" {{
    return static_cast(Entry, "pointer", cache.lookup(a)); }}
  State getState(TBE tbe, Entry cache_entry, Addr a) {{ return State:I; }}
  void setState(TBE tbe, Entry cache_entry, Addr a, State s) {{ }}
  AccessPermission getAccessPermission(Addr a) {{ return AccessPermission:Invalid; }}
  void setAccessPermission(Entry cache_entry, Addr a, State s) {{ }}
  void functionalRead(Addr a, Packet *pkt) {{ testAndRead(a, T[a].DataBlk, pkt); }}
  int functionalWrite(Addr a, Packet *pkt) {{ return 0; }}
  {functions}
  out_port(tx_out, Note, tx);
  out_port(inner_out, Note, inner);
  in_port(rx_in, Note, rx, rank=1{pairs}) {{
    if (rx_in.isReady(clockEdge())) {{ peek(rx_in, Note) {{
      {port}
      trigger(Event:Go, in_msg.addr, getEntry(in_msg.addr), T[in_msg.addr]);
    }} }}
  }}
  in_port(inner_in, Note, inner, rank=0) {{
    if (inner_in.isReady(clockEdge())) {{ peek(inner_in, Note) {{
      trigger(Event:Stop, in_msg.addr, getEntry(in_msg.addr), T[in_msg.addr]);
    }} }}
  }}
  action({action}, "a", desc="{desc}") {{ {body} }}
  transition({{I, M}}, Go) {{ {action}; }}
  transition(I, Stop, {next}) {requests} {{ {action}; }}
}}
"""
_PARTS = dict.fromkeys(
    [
        "types",
        "parameters",
        "states",
        "events",
        "entry",
        "tbe",
        "objects",
        "functions",
        "pairs",
        "port",
        "body",
        "requests",
    ],
    "",
)
_PARTS |= {"title": "Frame", "desc": "Act", "action": "a_act", "next": "M"}


def protocol_text(body: str = "", **parts: str) -> str:
    """The text with these parts filled in."""
    return FRAME.format(**{**_PARTS, "body": body, **parts})


def compiled(body: str = "", **parts: str) -> ir.Protocol:
    """The protocol with these parts filled in."""
    sink = DiagnosticSink()
    protocol = compile_text(protocol_text(body, **parts), sink, "Frame")
    assert protocol is not None, sink.diagnostics
    return protocol


def made(body: str = "", **parts: str) -> Package:
    return package(compiled(body, **parts))


def function(files: Package, name: str) -> str:
    """The lines of one function of the machine, without its header, directives and indentation."""
    found = re.search(
        rf"^inline [^\n]*\b{re.escape(name)}\([^\n]*\) {{(?: const Place place\(x\);)?\n(.*?)^}}$",
        files.files["L1Cache.hpp"],
        re.DOTALL | re.MULTILINE,
    )
    assert found is not None, f"no function {name}"
    lines = [line.removeprefix("    ") for line in found[1].rstrip().split("\n")]
    return "\n".join(line for line in lines if not line.startswith("#line"))


def assert_compiles(files: Package, directory: Path) -> None:
    """The whole unit, without a warning."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.files.items():
        (directory / name).write_text(text, encoding="utf-8")
    compile_unit(directory / "protocol.cpp", flags=(*WARNINGS, *STRICT, "-fsyntax-only"))
