"""Messages of a protocol's own type that are spent in several buffers of one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol
from tester.exploration.exploration import Conclusion, Exploration, explore
from tester.exploration.native_search import Rules
from tester.exploration.small_system import Bounds
from tests.tester.native.solo import load

PARTS = {
    "parameters": "MessageBuffer * evens; MessageBuffer * odds;",
    "types": """
      structure(Note, interface="Message") {
        Addr addr; bool Odd; MachineID Sender; MessageSizeType MessageSize;
        bool functionalRead(Packet *pkt) { return false; }
        bool functionalWrite(Packet *pkt) { return false; } }""",
    "events": "Even; Odd; Other;",
    "ports": """
      out_port(evens_out, Note, evens); out_port(odds_out, Note, odds);
      in_port(evens_in, Note, evens, rank=3) {
        if (evens_in.isReady(clockEdge())) { peek(evens_in, Note) {
          Addr a := in_msg.addr;
          if (in_msg.Odd) { trigger(Event:Other, a, getEntry(a), TBEs[a]); }
          else { trigger(Event:Even, a, getEntry(a), TBEs[a]); } } } }
      in_port(odds_in, Note, odds, rank=2) {
        if (odds_in.isReady(clockEdge())) { peek(odds_in, Note) {
          Addr a := in_msg.addr;
          if (in_msg.Odd) { trigger(Event:Odd, a, getEntry(a), TBEs[a]); }
          else { error("an even one"); } } } }""",
    "actions": """
      action(e_popEven, "e") { evens_in.dequeue(clockEdge()); }
      action(o_popOdd, "o") { odds_in.dequeue(clockEdge()); }
      action(t_note, "t") {
        enqueue(evens_out, Note, 1) { out_msg.addr := address; out_msg.Odd := false; }
        enqueue(odds_out, Note, 1) { out_msg.addr := address; out_msg.Odd := true; } }""",
    "on_store": "t_note;",
    "transitions": """
      transition({I, W, V}, Even) { e_popEven; }
      transition({I, W, V}, Odd) { o_popOdd; }""",
}
"""Every store sends two notes to the cache itself, and each arrives without effect."""


def explored(
    protocol: LoadedProtocol, some_rules: Rules, every_rules: Rules
) -> tuple[Exploration, Exploration]:
    """Without the messages that are spent, and with every message delivered."""
    bounds = Bounds(caches=1, locations=1)
    some, every = explore(protocol, bounds, some_rules), explore(protocol, bounds, every_rules)
    assert some.system.spent == {"L1Cache.Even", "L1Cache.Odd"}
    assert some.conclusion is every.conclusion is Conclusion.EXHAUSTED
    assert some.statistics.states < every.statistics.states
    return some, every


def test_each_buffer_has_a_condition_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noting").mkdir()
    noting = load(tmp_path / "noting", monkeypatch, **PARTS)
    _, every = explored(noting, Rules(bound=2), Rules(bound=2, local_steps=False))
    events = {noting.info.machines[0].EVENTS.name_of(cell.event) for cell in every.cells}
    assert events == {"Load", "Store", "Filled", "Even", "Odd"}


COUNTED = {
    **PARTS,
    "objects": 'int left, default="0";',
    "actions": PARTS["actions"].replace("enqueue(evens_out", "left := left + 1; enqueue(evens_out")
    + """
      action(c_count, "c") { assert(left >= 1); left := left - 1; }""",
    "transitions": """
      transition({I, W, V}, Even) { c_count; e_popEven; }
      transition({I, W, V}, Odd) { o_popOdd; }""",
}


def test_what_only_counts_when_it_arrives_counts_when_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes that have to be delivered would pile up without end."""
    (tmp_path / "counting").mkdir()
    counting = load(tmp_path / "counting", monkeypatch, **COUNTED)
    some, every = explored(counting, Rules(), Rules(bound=3, local_steps=False))
    delivered = {each for each in every.cells if each not in some.cells}
    events = {counting.info.machines[0].EVENTS.name_of(cell.event) for cell in delivered}
    assert events == {"Even", "Odd"}
