"""The page of transition tables."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from slicc import ir
from slicc.book.state_diagram import state_diagram
from slicc.book.transition_table import protocol_page
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink
from slicc.source import SourceFile
from tests.slicc.book.test_state_graph import BUSY, HOSTILE, INVALID, READ, SMALL, Row, machine

DRIVER = Path(__file__).parents[3] / "protocols" / "MI.slicc"


class Page(HTMLParser):
    """Checks that tags nest, and collects what tests look at."""

    VOID = {"meta", "link", "br", "hr", "img", "input"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if found.get("href"):
            self.links.append(str(found["href"]))
        if tag == "td" and "class" in found:
            self.cells.append(str(found["class"]))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(machine_: ir.Machine, *sources: SourceFile, name: str = "Toy") -> str:
    return protocol_page(ir.Protocol(name, (), (), (machine_,), span=machine_.span), sources)


def test_page_of_a_shipped_protocol() -> None:
    (compiled,) = compile_files([DRIVER], [], DiagnosticSink())
    text = protocol_page(compiled.protocol, compiled.sources)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.links and all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    cells = sum(len(each.cells) for each in compiled.protocol.machines)
    kinds = {"go", "stay", "stall", "wait"}
    assert sum(kind in kinds for kind in page.cells) == cells
    for source in compiled.sources:
        assert f">{Path(source.name).name}</h3>" in text


def test_page_needs_nothing_else() -> None:
    text = page_of(SMALL)
    page = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", text)


def test_kinds_of_cells() -> None:
    kinds = [kind for kind in Page(page_of(SMALL)).cells if kind != "faint"]
    assert sorted(set(kinds)) == ["go", "stall", "stay", "wait"]
    assert kinds.count("stall") == 1 and kinds.count("wait") == 1


def test_states_tell_what_they_are() -> None:
    text = page_of(SMALL)
    row = text.split('id="s-L1Cache-IS"')[1].split("</th>")[0]
    assert "transient" in row and "Busy" in row
    row = text.split('id="s-L1Cache-I"')[1].split("</th>")[0]
    assert "initial" in row and "stable" in row
    assert "no transition leads here" in text.split('id="s-L1Cache-X"')[1].split("</th>")[0]


def test_everything_is_escaped() -> None:
    hostile = HOSTILE + "<script>alert(1)</script>' onclick='x"
    made = machine([("I", "A", "S", [])], {"I": INVALID, "S": READ}, title=hostile, desc=hostile)
    text = page_of(made, SourceFile(hostile, hostile), name=hostile)
    page = Page(text)
    assert "script" not in page.tags
    assert "<script" not in text and "\x1b" not in text
    assert "&lt;script&gt;" in text


def test_a_large_machine_has_a_page_and_a_diagram() -> None:
    states = [f"S{number}" for number in range(40)]
    rows: list[Row] = [
        (state, f"E{event}", states[(index + event) % 40], ["alloc", "send", "free", "maybe"])
        for index, state in enumerate(states)
        for event in range(33)
    ]
    made = machine(rows, dict.fromkeys(states, BUSY), default="S0")
    assert len(made.cells) > 1300
    source = SourceFile("x.sm", "action(a) { }\n" * 4000)
    assert page_of(made, source).count("<td") > 1300
    assert state_diagram(made, "Large").source.count("->") > 1000
