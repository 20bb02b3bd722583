"""A book of a protocol: what it holds, that its links lead somewhere, and what it refuses."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from slicc.analysis.facts import MachineFacts
from slicc.book.book import Contents, single_page, site
from slicc.book.message_flow import message_flow
from slicc.book.run_pictures import NoPicture, read_runs
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile, what_is_known
from slicc.diagnostics.model import Diagnostic, Label, Severity
from tests.slicc.book.test_transition_table import Page

PROTOCOLS = Path(__file__).parents[3] / "protocols"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><title>x</title></svg>'
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")


@cache
def compiled(name: str) -> CompiledProtocol:
    return compile(PROTOCOLS / f"{name}.slicc")


def contents(name: str = "MI") -> Contents:
    return Contents(protocol=compiled(name).protocol, sources=compiled(name).sources)


def parsed(content: bytes) -> Page:
    page = Page(content.decode())
    assert len(page.ids) == len(set(page.ids)), "an id twice"
    return page


@needs_dot
def test_links_of_a_site_lead_somewhere() -> None:
    pages = {name: parsed(content) for name, content in site(contents()).items()}
    assert next(iter(pages)) == "index.html"
    assert {"m-L1Cache.html", "m-Directory.html", "m-DMA.html", "f0.html"} <= set(pages)
    for page in pages.values():
        for link in page.links:
            name, _, anchor = link.partition("#")
            assert anchor in pages[name].ids, link


@needs_dot
@pytest.mark.parametrize("name", ["MI", "MSI_Snoop"])
def test_links_of_a_single_page_lead_somewhere(name: str) -> None:
    page = parsed(single_page(contents(name)))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    for machine in compiled(name).protocol.machines:
        for member in machine.states.members:
            assert page.links.count(f"#s-{machine.name}-{member.name}") >= 1, "a node of the graph"


def test_a_page_tells_nothing_of_the_machine_it_was_made_on() -> None:
    found = Diagnostic("x", Severity.WARNING, "y", Label(compiled("MI").protocol.span, ""))
    pages = site(replace(contents(), findings=[found]))
    assert not any(str(PROTOCOLS).encode() in content for content in pages.values())
    assert b">MI-cache.sm</h3>" in b"".join(pages.values())


@needs_dot
def test_a_wide_picture_shrinks_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_bytes(SVG.replace(b"<svg", b'<svg width="2000" height="9"'))
    index = site(replace(contents(), runs=read_runs((tmp_path / "a.svg",))))["index.html"].decode()
    assert 'style="max-width: max(100%, 1300px)" src="data:' in index
    assert re.search(r'<svg style="max-width: max\(100%, \d+pt\)" width="\d+pt"', index)


def test_what_the_search_finds_is_there() -> None:
    text = single_page(contents()).decode()
    found = re.search(r'id="places">(.*?)</script>', text)
    assert found is not None
    ids = set(parsed(text.encode()).ids)
    addresses = re.findall(r'"#([^"]*)"', found[1])
    assert len(addresses) > 50 and set(addresses) <= ids


def test_cells_show_what_is_sent() -> None:
    text = single_page(contents()).decode()
    cell = text.split('id="c-L1Cache-I-Load"')[1].split("</td>")[0]
    assert '<li class="send">GETX to Directory</li>' in cell


def test_messages_go_where_they_are_read() -> None:
    protocol = compiled("MI").protocol
    flow = message_flow([MachineFacts(protocol, machine) for machine in protocol.machines])
    assert flow["L1Cache", "Directory", 2] == ("GETX", "PUTX")
    assert flow["Directory", "DMA", 1] == ("DATA", "ACK")
    assert ("L1Cache", "L1Cache", 4) in flow, "a receiver that a message names"
    assert not any(receiver == "DMA" for _, receiver, network in flow if network != 1)


def test_without_graphviz_there_is_a_book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    text = single_page(contents()).decode()
    assert "<svg" not in text and "Graphviz was not installed" in text
    parsed(text.encode())


def test_the_same_protocol_gives_the_same_bytes() -> None:
    assert single_page(contents("MSI")) == single_page(contents("MSI"))


def test_a_book_of_what_is_known(tmp_path: Path) -> None:
    for file in PROTOCOLS.glob("MI*.s*"):
        text = file.read_text().replace("a_issueGetx;", "a_issueGetxx;", 1)
        (tmp_path / file.name).write_text(text)
    known = what_is_known(tmp_path / "MI.slicc", [tmp_path])
    assert known is not None
    page = single_page(
        Contents(protocol=known.protocol, sources=known.sources, findings=known.diagnostics)
    ).decode()
    assert "The protocol has 1 error" in page and "unknown-action" in page
    assert 'id="c-L1Cache-I-Load"' in page


def test_there_is_no_book_of_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "P.slicc").write_bytes(b"\xff")
    assert what_is_known(tmp_path / "P.slicc", [tmp_path]) is None


@pytest.mark.parametrize("part", [0.4, 0.7, 0.97])
def test_a_book_of_what_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for file in PROTOCOLS.glob("MI*.s*"):
        text = file.read_text()
        if file.name == "MI-cache.sm":
            text = text[: int(part * len(text))]
        (tmp_path / file.name).write_text(text)
    known = what_is_known(tmp_path / "MI.slicc", [tmp_path])
    assert known is not None
    found = known.diagnostics
    syntax = {"unclosed-bracket", "missing-semicolon", "syntax-error"}
    assert {each.slug for each in found} <= syntax, "nothing that follows from what is not there"
    text = single_page(
        Contents(protocol=known.protocol, sources=known.sources, findings=found)
    ).decode()
    parsed(text.encode())
    assert 'id="s-L1Cache-M"' in text and 'id="s-Directory-M"' in text
    assert ('id="c-L1Cache-I-Load"' in text) == (part > 0.9)


@needs_dot
def test_runs_are_images_or_pages(tmp_path: Path) -> None:
    (tmp_path / "two-owners.svg").write_bytes(SVG)
    (tmp_path / "a.html").write_bytes(b"<!doctype html><title>a</title>")
    runs = read_runs((tmp_path / "two-owners.svg", tmp_path / "a.html"))
    pages = site(
        Contents(protocol=compiled("MI").protocol, sources=compiled("MI").sources, runs=runs)
    )
    assert pages["run-2.html"] == b"<!doctype html><title>a</title>"
    index = pages["index.html"].decode()
    assert "two owners" in index and "data:image/svg+xml;base64," in index
    assert 'href="run-2.html"' in index


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.leg", b"x", "is no picture of a run"),
        ("a.svg", b"<html>", "does not hold what its name says"),
        ("a.html", SVG, "does not hold what its name says"),
    ],
)
def test_what_is_no_picture_is_refused(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NoPicture, match=said):
        read_runs((tmp_path / name,))
