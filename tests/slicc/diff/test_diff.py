"""Two versions of a protocol, compared."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from json import loads
from pathlib import Path

import pytest

from protocols import shipped
from slicc import ir
from slicc.compiler import compile as compile_protocol
from slicc.compiler import compile_text
from slicc.diff.comparison import Difference, compare
from slicc.diff.renderings import html, json, markdown, text
from tests.slicc.cli.test_cli import slicc

BASE = """
structure(Msg, interface="Message") {
  Addr addr; MessageSizeType MessageSize; NetDest Destination; int Count;
}
machine(MachineType:L1Cache, "x")
  : Cycles wait := 2;
    MessageBuffer * in, network="From", virtual_network="3", vnet_type="request";
{
  state_declaration(State, default="L1Cache_State_I") {
    I, AccessPermission:Invalid;
    S, AccessPermission:Read_Only;
  }
  enumeration(Event) { E; F; }
  State getState(Addr addr) { return State:I; }
  void setState(Addr addr, State state) { }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:Invalid; }
  void setAccessPermission(Addr addr, State state) { }
  void functionalRead(Addr addr, Packet *pkt) { }
  int functionalWrite(Addr addr, Packet *pkt) { return 0; }
  in_port(net_in, Msg, in) {
    if (net_in.isReady(clockEdge())) {
      peek(net_in, Msg) {
        if (in_msg.Count == 0) { trigger(Event:E, in_msg.addr); }
        else { trigger(Event:F, in_msg.addr); }
      }
    }
  }
  action(p_pop, "p", desc="Done") { net_in.dequeue(clockEdge()); }
  transition(I, E, S) { p_pop; }
  transition(S, {E, F}) { p_pop; }
}
"""


def protocol(text: str) -> ir.Protocol:
    found = compile_text(text)
    assert found is not None
    return found


def difference(*edits: tuple[str, str]) -> Difference:
    changed = BASE
    for old, new in edits:
        assert changed.count(old) == 1, old
        changed = changed.replace(old, new)
    return compare(protocol(BASE), protocol(changed), ("old", "new"))


def told(found: Difference) -> list[tuple[str, str, str]]:
    """Section, sign and name of every change."""
    return [
        (section.title, change.sign, change.name)
        for part in found.parts
        for section in part.sections
        for change in section.changes
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  action(p_pop", "\n\n  // a comment\n  action(p_pop"),
        ('desc="Done"', 'desc="Finished"'),
        (
            "transition(I, E, S) { p_pop; }\n  transition(S, {E, F})",
            "transition(S, {E, F}) { p_pop; }\n  transition(I, E, S)",
        ),
        (
            "transition(S, {E, F}) { p_pop; }",
            "transition(S, F) { p_pop; } transition(S, E, S) {p_pop;}",
        ),
    ],
    ids=["comment", "description", "order of transitions", "one transition for two cells"],
)
def test_what_does_not_change_the_behaviour_is_no_difference(old: str, new: str) -> None:
    assert difference((old, new)).parts == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("S, AccessPermission:Read_Only", "S, AccessPermission:Busy", [("states", "~", "S")]),
        ("transition(I, E, S)", "transition(I, E)", [("cells", "~", "I, E")]),
        ("transition(I, E, S)", "transition(I, {E, F}, S)", [("cells", "+", "I, F")]),
        ("transition(S, {E, F})", "transition(S, E)", [("cells", "-", "S, F")]),
        (
            "net_in.dequeue(clockEdge())",
            "net_in.dequeue(clockEdge()); wait := wait + 1",
            [("actions", "~", "p_pop")],
        ),
        ("wait := 2", "wait := 3", [("parameters and objects", "~", "wait")]),
        ("int Count;", "int Count; bool Last;", [("types", "~", "Msg")]),
        ("return 0;", "return 1;", [("functions", "~", "functionalWrite")]),
        ("in_msg.Count == 0", "in_msg.Count == 1", [("in-ports", "~", "net_in")]),
        ("State_I", "State_S", [("properties", "~", "initial state")]),
        ("{ E; F; }", "{ E; F; G; }", [("events", "+", "G")]),
    ],
)
def test_one_change_is_one_finding(
    old: str, new: str, expected: list[tuple[str, str, str]]
) -> None:
    assert told(difference((old, new))) == expected


def test_exchanging_the_versions_exchanges_the_signs() -> None:
    one, other = protocol(BASE), protocol(BASE.replace("transition(S, {E, F})", "transition(S, E)"))
    assert told(compare(one, other, ("a", "b"))) == [("cells", "-", "S, F")]
    assert told(compare(other, one, ("b", "a"))) == [("cells", "+", "S, F")]


def test_machines_come_and_go() -> None:
    one = compile_protocol(shipped()["MSI"]).protocol
    less = replace(one, machines=one.machines[:1])
    (part,) = compare(one, less, ("a", "b")).parts
    assert (part.title, part.sign) == ("machine Directory", "-")


@pytest.mark.parametrize("name", ["MSI", "MI", "GPU_VIPER"])
def test_a_protocol_equals_itself(name: str) -> None:
    one, other = (compile_protocol(shipped()[name]).protocol for _ in range(2))
    assert compare(one, other, ("a", "b")).parts == ()


# ------------------------------------------------------------------ renderings

EDITS = (
    ("transition(I, E, S)", "transition(I, E)"),
    ("net_in.dequeue(clockEdge())", "net_in.dequeue(clockEdge()); wait := wait + 1"),
)


def test_text() -> None:
    assert (
        text(difference(*EDITS))
        == """\
--- old
+++ new

machine L1Cache
  cells
    ~ I, E
        - to S; p_pop
        + stay; p_pop
  actions
    ~ p_pop
        @@ -2 +2,2 @@
             port net_in.dequeue()
        +    self.wait := (self.wait + 1)
"""
    )


def test_markdown_is_a_table() -> None:
    shown = markdown(difference(*EDITS))
    assert "| ~ | I, E | to S; p\\_pop | stay; p\\_pop |" in shown
    assert "```diff\n" in shown


def test_json_is_for_programs() -> None:
    (part,) = loads(json(difference(EDITS[0], ("{ E; F; }", "{ E; F; G; }"))))["parts"]
    assert part == {
        "part": "machine L1Cache",
        "change": "changed",
        "sections": [
            {
                "section": "events",
                "changes": [{"name": "G", "change": "added", "before": None, "after": []}],
            },
            {
                "section": "cells",
                "changes": [
                    {
                        "name": "I, E",
                        "change": "changed",
                        "before": ["to S", "p_pop"],
                        "after": ["stay", "p_pop"],
                    }
                ],
            },
        ],
    }
    assert loads(json(difference())) == {"before": "old", "after": "new", "parts": []}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.data: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.data.append(data)


def test_names_of_files_are_no_markup() -> None:
    evil = "<script>alert(1)</script>`|*_\n# x\u202e"
    found = difference(*EDITS)
    hostile, harmless = (html(replace(found, before=name, after=name)) for name in (evil, "plain"))
    pages = [Tags(), Tags()]
    for page, content in zip(pages, (hostile, harmless)):
        page.feed(content)
    assert pages[0].tags == pages[1].tags
    assert any("alert(1)" in each for each in pages[0].data)
    for rendered in (
        hostile,
        markdown(replace(found, before=evil)),
        text(replace(found, before=evil)),
    ):
        assert "\u202e" not in rendered
    first = markdown(replace(found, before=evil)).splitlines()[0]
    assert "<script" not in first and "\\`\\|\\*\\_ \\# x" in first


# ------------------------------------------------------------------ the command


def test_the_status_says_whether_they_differ() -> None:
    same = slicc("diff", "MSI", "MSI")
    assert (same.returncode, same.stdout) == (0, "--- MSI\n+++ MSI\nno difference\n")
    other = slicc("diff", "MSI", "MI", "--format", "html")
    assert other.returncode == 1 and other.stdout.startswith("<!DOCTYPE html>")


def test_of_warnings_those_are_printed_that_only_the_second_version_has(tmp_path: Path) -> None:
    old, new = (tmp_path / each for each in ("old", "new"))
    for directory in (old, new):
        directory.mkdir()
        for path in shipped()["MSI"].parent.glob("MSI[.-]*"):
            (directory / path.name).write_bytes(path.read_bytes())
    text = (old / "MSI-cache.sm").read_text(encoding="utf-8")
    unused = 'action({name}, "{name}", desc="No transition runs it") {{ }}\n\n  transition(I, '
    once = text.replace("transition(I, ", unused.format(name="one_more"), 1)
    assert once != text
    (old / "MSI-cache.sm").write_text(once, encoding="utf-8")
    twice = once.replace("transition(I, ", unused.format(name="another"), 1)
    (new / "MSI-cache.sm").write_text(twice, encoding="utf-8")
    done = slicc("diff", str(old / "MSI.slicc"), str(new / "MSI.slicc"))
    assert done.returncode == 1 and "another" in done.stdout
    assert done.stderr.count("warning[unused-action]") == 1
    assert "runs `another`" in done.stderr and "one_more" not in done.stderr


def test_bad_input_is_a_misuse() -> None:
    for name in ("MSY", "nothing.slicc"):
        done = slicc("diff", "MSI", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert name in done.stderr and "Traceback" not in done.stderr
        assert "no errors" not in done.stderr


def test_both_versions_are_read_before_one_is_given_up(tmp_path: Path) -> None:
    for name in ("old.sm", "new.sm"):
        (tmp_path / name).write_text("structure(", encoding="utf-8")
    done = slicc("diff", str(tmp_path / "old.sm"), str(tmp_path / "new.sm"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "old.sm:1" in done.stderr and "new.sm:1" in done.stderr
