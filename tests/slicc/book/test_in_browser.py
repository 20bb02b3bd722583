"""Books in a browser (``-m browser``): filters do what they say, keys work, all can use them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicc.book.book import Contents, single_page, site
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile
from tests.browser import Opened, chromium
from tests.slicc.book.test_overlays import results

pytestmark = pytest.mark.browser

PROTOCOLS = Path(__file__).parents[3] / "protocols"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def book_of(compiled: CompiledProtocol) -> Contents:
    return Contents(protocol=compiled.protocol, sources=compiled.sources)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    made = book_of(compile(PROTOCOLS / "GPU_VIPER.slicc"))
    for name, content in site(made).items():
        (folder / name).write_bytes(content)
    (folder / "single.html").write_bytes(single_page(made))
    return folder


@pytest.fixture
def tcc(browser: Any, pages: Path) -> Opened:
    return Opened(browser, pages / "m-TCC.html", viewport={"width": 1280, "height": 800})


LONG = "a" * 200
SHOWN = "[...document.querySelectorAll('#m-TCC .cells td')].filter(c => c.className && !c.hidden &&"


def shown(opened: Opened, more: str = "true") -> int:
    found = opened.run(f"{SHOWN} !c.classList.contains('off') && ({more})).length")
    assert opened.run("document.querySelector('.counted').textContent").startswith(
        f"{opened.run(SHOWN + ' !c.classList.contains(`off`)).length')} cell"
    )
    return int(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_pages_open_without_a_complaint(browser: Any, pages: Path, scheme: str) -> None:
    for file in sorted(pages.glob("*.html")):
        opened = Opened(browser, file, color_scheme=scheme)
        assert opened.problems == []
        assert opened.asked == [file.as_uri()]


def test_narrow_pages_do_not_scroll_sideways(browser: Any, pages: Path) -> None:
    opened = Opened(browser, pages / "m-TCC.html", viewport={"width": 500, "height": 900})
    wide = "[...document.querySelectorAll('table.list')].filter(t => t.scrollWidth > t.clientWidth)"
    assert opened.run(f"{wide}.length") > 0
    assert opened.hangs_out <= 0


def test_filters_do_what_they_say(tcc: Opened) -> None:
    every = shown(tcc)
    assert every == 171
    tcc.tab.check(".changes")
    assert 0 < shown(tcc) < every and shown(tcc, "!c.classList.contains('go')") == 0
    tcc.tab.uncheck(".changes")
    tcc.tab.check(".no-stalls")
    assert 0 < shown(tcc) < every
    assert shown(tcc, "c.matches('.stall, .wait')") == 0
    tcc.tab.uncheck(".no-stalls")
    tcc.tab.fill(".by-send", "VicDirty")
    count = shown(tcc, "c.textContent.includes('VicDirty')")
    assert 0 < count == shown(tcc) < every
    tcc.tab.fill(".by-send", "")
    tcc.tab.fill(".by-state", "ivs")
    assert shown(tcc) == shown(tcc, "c.id.startsWith('c-TCC-IVS-')") > 0
    tcc.tab.fill(".by-state", "")
    assert shown(tcc) == every


def test_a_port_leaves_its_events_and_edges(tcc: Opened) -> None:
    assert tcc.run("document.querySelectorAll('g.edge.off').length") == 0
    tcc.tab.select_option(".by-port", "probeFromNB_in")
    names = tcc.run(
        "[...document.querySelectorAll('thead th[data-name]')].filter(e => !e.hidden)"
        ".map(e => e.dataset.name)"
    )
    assert names == ["PrbInv", "PrbShrData"]
    edges = tcc.run("[...document.querySelectorAll('g.edge:not(.off)')].map(e => e.textContent)")
    assert edges and all("Prb" in edge or "(start)" in edge for edge in edges)


def test_transposed_and_back(tcc: Opened) -> None:
    before = tcc.run("document.querySelector('table.cells').innerText")
    ids = tcc.run("[...document.querySelectorAll('[id]')].map(e => e.id).sort()")
    tcc.tab.keyboard.press("t")
    first = tcc.run("document.querySelector('table.cells tbody tr').innerText")
    assert first.startswith("RdBlk")
    assert tcc.run("[...document.querySelectorAll('[id]')].map(e => e.id).sort()") == ids
    cell = tcc.run("document.getElementById('c-TCC-I-RdBlk').parentElement.cells[0].dataset.name")
    assert cell == "RdBlk"
    tcc.tab.keyboard.press("t")
    assert tcc.run("document.querySelector('table.cells').innerText") == before
    assert tcc.problems == []


@pytest.mark.parametrize("entered", [("", "Enter"), ("div.scroll", "ArrowDown")])
def test_keys_walk_through_cells(tcc: Opened, entered: tuple[str, str]) -> None:
    focused, key = entered
    if focused:
        tcc.tab.focus(focused)
    tcc.tab.keyboard.press(key)
    assert tcc.run("document.activeElement.id") == "c-TCC-I-RdBlk"
    tcc.tab.keyboard.press("ArrowRight")
    assert tcc.run("document.activeElement.id") == "c-TCC-I-RdBypassEvict"
    tcc.tab.keyboard.press("ArrowDown")
    assert tcc.run("document.activeElement.id") == "c-TCC-V-RdBypassEvict"


def test_search_leads_across_pages(tcc: Opened) -> None:
    tcc.tab.keyboard.press("/")
    tcc.tab.keyboard.type("TCP: state V")
    tcc.tab.keyboard.press("Enter")
    tcc.tab.wait_for_url("**/m-TCP.html#s-TCP-V")
    assert tcc.problems == []


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("WBAck", "m-TCC.html#e-TCC-WBAck"),
        ("wback", "m-TCC.html#e-TCC-WBAck"),
        ("I", "m-TCC.html#s-TCC-I"),
        ("TCP: state I", "m-TCP.html#s-TCP-I"),
        ("BP_R", "m-Directory.html#s-Directory-BP_R"),
    ],
)
def test_a_bare_name_is_found(tcc: Opened, name: str, place: str) -> None:
    tcc.tab.fill("#find", name)
    tcc.tab.keyboard.press("Enter")
    tcc.tab.wait_for_url(f"**/{place}")
    assert tcc.problems == []


def test_it_is_said_that_nothing_is_found(tcc: Opened) -> None:
    tcc.tab.fill("#find", "Nothing")
    tcc.tab.keyboard.press("Enter")
    assert tcc.text("#found") == "nothing found"
    tcc.tab.fill("#find", "I")
    tcc.tab.keyboard.press("Enter")
    assert tcc.text("#found") == ""


def test_actions_are_shown_on_demand(tcc: Opened) -> None:
    action = "document.querySelector('#c-TCC-I-RdBlk .actions').checkVisibility()"
    assert tcc.run(action) is False
    tcc.tab.keyboard.press("a")
    assert tcc.run(action) is True


def test_the_first_columns_are_readable_on_a_projector(tcc: Opened) -> None:
    """At 1,280 pixels: descriptions do not push events off the screen."""
    right = tcc.run(
        "[...document.querySelectorAll('thead th[data-name]')].slice(0, 5)"
        ".map(e => e.getBoundingClientRect().right)"
    )
    assert right == sorted(right) and right[-1] < 1280


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, known = compile(PROTOCOLS / "MI.slicc"), results(LONG)
    folder = tmp_path_factory.mktemp("tested")
    contents = Contents(protocol=made.protocol, sources=made.sources, results=known)
    for name, content in site(contents).items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_was_tested_can_be_seen_and_chosen(browser: Any, tested: Path, scheme: str) -> None:
    opened = Opened(browser, tested / "m-L1Cache.html", color_scheme=scheme)
    cells = "[...document.querySelectorAll('td:not(.off):not([hidden])')].filter(c => c.className)"
    for name, found in (
        ("hit", ["c-L1Cache-I-Load"]),
        ("reachable", ["c-L1Cache-M-Replacement"]),
        ("survived", ["c-L1Cache-I-Load"]),
        ("unsent", []),
    ):
        opened.tab.select_option(".by-known", name)
        assert opened.run(f"{cells}.map(c => c.id).filter(id => id)") == found
    opened.tab.select_option(".by-known", "reachable")
    way = opened.tab.locator("#c-L1Cache-M-Replacement .way")
    assert not way.locator("li").first.is_visible()
    way.locator("summary").click()
    assert way.locator("li").all_inner_texts() == ["cpu0 loads", "GETX arrives", LONG]
    assert way.evaluate("e => e.scrollWidth <= e.clientWidth"), "it stays in its cell"
    assert opened.problems == []


def test_tested_pages_serve_all_readers(browser: Any, tested: Path) -> None:
    for name in ("index.html", "m-L1Cache.html", "f0.html"):
        for scheme in ("light", "dark"):
            assert serious(Opened(browser, tested / name, color_scheme=scheme)) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way(browser: Any, pages: Path, scheme: str) -> None:
    for name in ("index.html", "m-TCC.html", "f0.html"):
        assert serious(Opened(browser, pages / name, color_scheme=scheme)) == []


def serious(opened: Opened) -> list[tuple[str, str]]:
    """What axe-core calls serious or critical."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    found = axe.Axe().run(opened.tab).response["violations"]
    bad = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], each["nodes"][0]["html"]) for each in bad]


def test_a_large_table_opens_at_once(browser: Any, tmp_path: Path) -> None:
    """Of CHI's size: 1,135 transitions."""
    from slicc import ir
    from tests.slicc.book.test_state_graph import BUSY, Row, machine

    states = [f"S{number}" for number in range(36)]
    rows: list[Row] = [
        (state, f"Event{event}", states[(number * 7 + event) % 36], ["send", "free"])
        for number, state in enumerate(states)
        for event in range(32)
    ]
    made = machine(rows, dict.fromkeys(states, BUSY), default="S0")
    protocol = ir.Protocol("Large", (), (), (made,), span=made.span)
    (tmp_path / "large.html").write_bytes(single_page(Contents(protocol=protocol, sources=())))
    opened = Opened(browser, tmp_path / "large.html")
    assert opened.run("performance.timing.loadEventEnd - performance.timing.navigationStart") < 3000
    assert opened.text(".counted").startswith("1152 cells")
