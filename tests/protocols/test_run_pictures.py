"""The runs that a book of a shipped protocol shows are what the tester draws (``-m browser``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import DIRECTORY, run_pictures
from protocols.loader import LoadedProtocol, load_protocol
from runtime.system.builder import build_system
from slicc.scenario_text.parser import read_scenario
from tester.campaign.campaign import leg_run
from tester.litmus.binding import bind
from tester.litmus.shipped import scenario_files, shipped_folder
from tester.program.replay_file import Leg
from tester.shrink.leg_page import write_leg_page
from tests.browser import Opened, chromium

DRAWN = ("MSI", "MI", "MESI_Two_Level", "GPU_VIPER")


def lives(protocol: str) -> list[Path]:
    return [f for f in scenario_files(shipped_folder(protocol)) if f.stem.startswith("life-of-")]


@pytest.mark.parametrize("protocol", DRAWN)
def test_every_life_has_a_picture(protocol: str) -> None:
    names = [picture.stem for picture in run_pictures(protocol)]
    assert names == [file.stem for file in lives(protocol)]
    assert {"life-of-a-load", "life-of-a-store"} <= set(names)


def end(leg: Leg, protocol: LoadedProtocol) -> int:
    """The tick of the last answer to the scenario; then come the flush and the read-back."""
    return (
        leg_run(leg, build_system(protocol.info, leg.description, leg.run_key)).run_episodes().ticks
    )


@pytest.mark.browser
@pytest.mark.parametrize("protocol", DRAWN)
def test_a_picture_is_what_is_drawn(
    protocol: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    loaded = load_protocol(protocol)
    with chromium() as browser:
        for file, picture in zip(lives(protocol), pictures(protocol), strict=True):
            bound = bind(read_scenario(file), loaded)
            leg, _ = bound.leg(1)
            page = tmp_path / f"{file.stem}.html"
            write_leg_page(page, leg, bound.protocol)
            last = end(leg, bound.protocol)
            drawn = Opened(browser, page).run(
                "(() => { const { diagram, run } = picture, { rows } = diagram.layout;"
                f" const count = rows.filter(row => run.events[row].tick <= {last}).length;"
                " const style = document.getElementById('diagram-style').textContent;"
                " return diagram.file(style, count); })()"
            )
            if request.config.getoption("--update"):
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_text(drawn, encoding="utf-8")
            assert picture.read_text(encoding="utf-8") == drawn


def pictures(protocol: str) -> list[Path]:
    folder = DIRECTORY / "runs" / protocol
    return [folder / f"{file.stem}.svg" for file in lives(protocol)]
