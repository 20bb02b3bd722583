"""The texts of transitions and actions, cut out of files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocols import shipped
from protocols.loader import LoadedProtocol, load_protocol
from protocols.texts import ProtocolTexts
from protocols.transition_texts import texts_as_loaded, texts_of, transition_texts
from slicc.compiler import compile_source

TEXT = """
machine(MachineType:L1Cache, "A machine") : MessageBuffer * mandatoryQueue; {
  state_declaration(State, desc="States") { I, AccessPermission:Invalid, desc="}"; }
  enumeration(Event, desc="Events") { Load, desc="{"; }
  State getState(Addr addr) { return State:I; }
  void setState(Addr addr, State state) { }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:NotPresent; }
  void setAccessPermission(Addr addr, State state) { }
  void functionalRead(Addr addr, Packet *pkt) { error("no"); }
  int functionalWrite(Addr addr, Packet *pkt) { error("no"); }
  in_port(mandatory_in, RubyRequest, mandatoryQueue, desc="...") {
    if (mandatory_in.isReady(clockEdge())) {
      peek(mandatory_in, RubyRequest) { trigger(Event:Load, in_msg.LineAddress); }
    }
  }
  action(p_pop, "p", desc="A } in a text") {
    // a } in a comment
    if (true) { mandatory_in.dequeue(clockEdge()); }
  }
  transition(I, Load) {
    p_pop; /* } */
  }
}
"""


def test_braces_in_texts_and_comments_end_nothing() -> None:
    (text,) = texts_of(compile_source(TEXT)).values()
    assert text.passage.text == "transition(I, Load) {\n  p_pop; /* } */\n}"
    ((name, action),) = text.actions
    assert (name, action.line) == ("p_pop", text.passage.line - 4)
    assert action.text.splitlines()[-2:] == [
        "  if (true) { mandatory_in.dequeue(clockEdge()); }",
        "}",
    ]


@pytest.mark.parametrize("name", ["MI", "GPU_VIPER"])
def test_of_every_transition_there_is_the_whole_text(name: str) -> None:
    assert name in shipped()
    for text in transition_texts(name).values():
        for passage in (text.passage, *(each for _, each in text.actions)):
            assert passage.text.count("{") == passage.text.count("}") > 0
            assert passage.text.startswith(("transition(", "action("))
            assert len(passage.text.splitlines()) < 60


def test_texts_that_a_protocol_carries_are_its_own_and_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run has a page for every failure."""

    def carrying(action: str) -> LoadedProtocol:
        files = {"A.sm": TEXT.replace("p_pop", action)}
        return replace(load_protocol("MI"), texts=ProtocolTexts("A.sm", files))

    def actions(protocol: LoadedProtocol) -> list[str]:
        return [name for text in texts_as_loaded(protocol).values() for name, _ in text.actions]

    one, other = carrying("one"), carrying("other")
    assert [actions(each) for each in (one, other, one)] == [["one"], ["other"], ["one"]]
    monkeypatch.setattr("protocols.transition_texts.transition_texts", None)
    assert actions(one) == ["one"]
