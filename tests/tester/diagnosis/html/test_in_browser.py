"""Pages in a browser (``-m browser``): they open, step, link, filter, print, and stay inert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from protocols.loader import load_protocol
from tester.campaign.recording import record
from tester.diagnosis.events.line_events import Transition
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.html.page import Page, write_page
from tester.diagnosis.listing import line_names, listing
from tests.browser import Opened, chromium
from tests.tester.diagnosis.html.test_page import HOSTILE, page_for
from tests.tester.diagnosis.recorded import failing, leg_of, texts
from tests.tester.shrink.failing import failing as broken_leg

pytestmark = pytest.mark.browser

MANY = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def many() -> Recording:
    protocol = load_protocol("GPU_VIPER")
    recording = record(leg_of(protocol, 400, seed=3), protocol)
    assert recording.history.transitions > MANY
    return recording


def first(recording: Recording, transitions: int) -> Recording:
    """The beginning of a recording, with so many transitions."""
    places = [n for n, e in enumerate(recording.events) if isinstance(e, Transition)]
    cut = Recording(recording.leg, recording.run, recording.history, None)
    object.__setattr__(cut, "events", recording.events[: places[transitions - 1] + 1])
    return cut


def written(path: Path, recording: Recording, protocol: str = "MI") -> Path:
    leg = recording.leg
    page = Page(
        texts=texts(protocol),
        listing=listing(leg, recording.finding),
        line_names=line_names(leg.program),
        command="gpu-tester replay run.leg",
    )
    return write_page(path / "run.html", recording, page)


@pytest.fixture
def failed(browser: Any, tmp_path: Path) -> Opened:
    return Opened(browser, written(tmp_path, failing()[1]))


@pytest.mark.parametrize("transitions", [1, 100, MANY])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_a_complaint(
    browser: Any, tmp_path: Path, many: Recording, transitions: int, scheme: str
) -> None:
    file = written(tmp_path, first(many, transitions), "GPU_VIPER")
    assert file.stat().st_size < 10_000_000
    opened = Opened(browser, file, color_scheme=scheme)
    assert opened.run("picture.run.transitions.length") == transitions
    assert opened.run("document.querySelectorAll('.drawing .event').length") >= 1
    assert opened.run("document.querySelectorAll('*').length") < 8_000, "only what is in view"
    for share in (0, 0.5, 1):
        opened.run(f"picture.diagram.place.scrollTop = {share} * picture.diagram.layout.height")
        opened.tab.wait_for_timeout(50)
        assert opened.run("document.querySelectorAll('.drawing .event').length") >= 1
    assert opened.problems == []
    assert opened.asked == [file.as_uri()]


def test_it_opens_at_the_failure(failed: Opened) -> None:
    assert "This is where the run fails." in failed.text("#chosen")
    assert failed.run("document.querySelectorAll('.drawing .event.bad').length") == 1
    failed.tab.keyboard.press("Home")
    assert failed.cursor == 0
    failed.tab.keyboard.press("f")
    assert failed.cursor == failed.run("picture.run.failure.events[0]")


def test_a_hang_is_shown_at_the_request_that_is_not_answered(browser: Any, tmp_path: Path) -> None:
    """The run does not fail where the request is issued, long before nothing moves any more."""
    broken = broken_leg(tmp_path, "msi-overtaken-upgrade-acknowledges-nothing")
    finding = record(broken.leg, broken.protocol).finding
    recording = record(broken.leg, broken.protocol, finding)
    hung = Opened(browser, written(tmp_path, recording, "MSI"))
    assert "The run ends before this is answered." in hung.text("#chosen")
    assert "where the run fails" not in hung.text("#chosen")


def test_arrow_keys_step_by_transition(failed: Opened) -> None:
    failed.tab.keyboard.press("Home")
    seen = []
    for _ in range(5):
        failed.tab.keyboard.press("ArrowRight")
        seen.append(failed.cursor)
    assert seen == failed.run("picture.run.transitions.slice(0, 5)")
    failed.tab.keyboard.press("ArrowLeft")
    assert failed.cursor == seen[-2]
    assert failed.text("#status").startswith("tick ")


def test_the_slider_travels_in_time(failed: Opened) -> None:
    def at(place: int) -> tuple[str, str]:
        failed.run(
            f"(() => {{ const s = document.getElementById('slider'); s.value = {place};"
            "s.dispatchEvent(new Event('input')); })()"
        )
        return failed.text("#tick"), failed.text("#moment")

    last = failed.run("Number(document.getElementById('slider').max)")
    (begin, nothing), (middle, some), (end, _) = at(0), at(last // 2), at(last)
    ticks = [int(each.replace(",", "")) for each in (begin, middle, end)]
    assert ticks == sorted(set(ticks))
    assert nothing != some and "L1Cache" in some
    state = failed.run(
        "(() => { const { run, page } = picture; const life = run.lifelines.find("
        "l => l.name === 'Directory 0'); return run.stateAt(life.number, 0, page.cursor); })()"
    )
    assert state in failed.text("#moment")


def test_every_link_of_a_transition_is_right(failed: Opened) -> None:
    """To its text and its actions, to what it took and sent, and back."""
    index = failed.run(
        "picture.run.events.find(e => e.kind === 0 && e.name === 'Fwd_GETX' && e.taken.length"
        " && e.aside < 0).index"
    )
    failed.run(f"location.hash = '#e{index}'")
    failed.tab.wait_for_function(f"picture.page.cursor === {index}")
    event = failed.run(f"picture.run.events[{index}]")
    assert f"{event['name']}, {event['state']}" in failed.text("#chosen .headline")
    source = failed.text("#source")
    assert "transition(" in source and event["name"] in source and event["place"] in source
    assert "action(o_popForward" in source
    failed.tab.click("#chosen dt:text-is('took') + dd a")
    assert failed.cursor == event["taken"][0]
    failed.tab.click("#chosen a:text-matches('taken at')")
    assert failed.cursor == index
    row = failed.tab.locator("#transitions .tr.now a")
    assert row.get_attribute("href") == f"#e{index}"


def test_a_click_on_a_message_chooses_it(failed: Opened) -> None:
    failed.tab.keyboard.press("Home")
    failed.tab.locator(".drawing .label").first.click()
    assert failed.run("picture.run.events[picture.page.cursor].kind") == 1
    assert "virtual network" in failed.text("#chosen")


def test_filters_take_rows_away(browser: Any, tmp_path: Path, many: Recording) -> None:
    opened = Opened(browser, written(tmp_path, first(many, 1000), "GPU_VIPER"))
    rows = "picture.diagram.layout.rows.length"
    arrows = "picture.diagram.layout.arrows"
    whole, drawn = opened.run(rows), opened.run(arrows)
    opened.tab.select_option("#line", "0")
    of_line = opened.run(rows)
    assert 0 < of_line < whole
    assert opened.run(
        "picture.diagram.layout.rows.every(r => [-1, 0].includes(picture.run.events[r].line))"
    )
    opened.tab.select_option("#line", "-1")
    opened.tab.click(".shows summary")
    opened.tab.click("#lives label:has-text('TCC 0')")
    assert 0 < opened.run(rows) < whole
    opened.tab.click("#lives label:has-text('TCC 0')")
    assert (opened.run(rows), opened.run(arrows)) == (whole, drawn)
    opened.tab.click("#networks label:has-text('vnet 1')")
    assert opened.run(arrows) < drawn
    assert opened.problems == []


def test_pointing_shows_fields(failed: Opened) -> None:
    failed.tab.keyboard.press("Home")
    failed.tab.evaluate("document.querySelector('.view').scrollIntoView()")
    failed.tab.wait_for_timeout(200)
    place = failed.run(
        "(() => { const view = picture.diagram.place.getBoundingClientRect();"
        " return [...document.querySelectorAll('.drawing .label')]"
        ".map(label => label.getBoundingClientRect())"
        ".map(r => [r.x + r.width / 2, r.y + r.height / 2])"
        ".find(([x, y]) => x > view.x + 60 && x < view.right - 40 && y > 180 && y < 880); })()"
    )
    failed.tab.mouse.move(*place)
    failed.tab.wait_for_selector("#tip", state="visible")
    assert failed.tab.is_visible("#tip") and "arrives" in failed.text("#tip")


def test_it_prints(failed: Opened) -> None:
    failed.tab.emulate_media(media="print")
    document = failed.tab.pdf()
    assert document.startswith(b"%PDF") and len(document) > 20_000
    assert failed.problems == []


def test_the_diagram_can_be_saved(failed: Opened) -> None:
    failed.tab.click(".shows summary")
    with failed.tab.expect_download() as download:
        failed.tab.click("#save")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert "L1Cache 0" in text and failed.problems == []


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    file.write_text(page_for(failing()[1], HOSTILE), encoding="utf-8", errors="replace")
    opened = Opened(browser, file)
    opened.tab.wait_for_timeout(200)
    assert opened.problems == [] and opened.asked == [file.as_uri()]
    assert "<script>alert(1)</script>" in opened.text("#listing")
    assert "onerror=alert(2)" in opened.text("#chosen")
    assert not opened.run("document.querySelectorAll('img').length")


def test_a_narrow_page_has_no_sideways_scroll(browser: Any, tmp_path: Path) -> None:
    file = written(tmp_path, failing()[1])
    opened = Opened(browser, file, viewport={"width": 390, "height": 800})
    assert opened.run("document.documentElement.scrollWidth <= innerWidth + 1")
    assert not re.search(r"undefined|NaN|\[object", opened.text("body"))
