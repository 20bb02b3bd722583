"""The pictures of runs on these pages are what the tester draws (``-m browser --update``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import load_protocol
from slicc.scenario_text.parser import read_scenario
from tester.litmus.binding import bind
from tester.shrink.leg_page import write_leg_page
from tests.browser import Opened, chromium
from tests.docs.test_first_protocol import BLOCK, PAGE, edited, options_of
from tests.planted.bugs import BY_NAME

DOCS = Path(__file__).parents[2] / "docs"
LEGS = Path(__file__).parent / "pictures"


def two_owners(folder: Path) -> Path:
    return BY_NAME["mi-two-owners"].plant(folder)


def lend(folder: Path) -> Path:
    """The protocol of the tutorial before its last step."""
    text = PAGE.read_text(encoding="utf-8").partition("\n## 4.")[0]
    for kind, words, body in BLOCK.findall(text):
        name = options_of(words).get("file", "")
        if kind == "slicc":
            (folder / name).write_text(body, encoding="utf-8")
        elif kind == "diff":
            old = (folder / name).read_text(encoding="utf-8")
            (folder / name).write_text(edited(old, body), encoding="utf-8")
    return folder / "Lend.slicc"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "protocol", "until"),
    [("run-two-owners", two_owners, 126), ("run-lend", lend, 1 << 30)],
)
def test_a_picture_is_what_is_drawn(
    name: str, protocol: object, until: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert callable(protocol)
    scenario = read_scenario(LEGS / f"{name.removeprefix('run-')}.litmus")
    loaded = load_protocol(str(protocol(tmp_path)))
    bound = bind(scenario, loaded)
    leg, _ = bound.leg(bound.keys[0], bound.delays[0])
    page = tmp_path / "run.html"
    write_leg_page(page, leg, bound.protocol)
    with chromium() as browser:
        opened = Opened(browser, page)
        drawn = opened.run(
            "(() => { const { diagram, run } = picture, { rows } = diagram.layout;"
            f" const count = rows.filter(row => run.events[row].tick < {until}).length;"
            " const style = document.getElementById('diagram-style').textContent;"
            " return diagram.file(style, count); })()"
        )
    picture = DOCS / f"{name}.svg"
    if request.config.getoption("--update"):
        picture.write_text(drawn, encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == drawn
