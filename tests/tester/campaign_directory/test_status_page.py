"""The page of a campaign in a browser (``-m browser``): curves, and links that lead to files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tester.campaign_directory.directory import CampaignDirectory
from tester.cli.options.campaign import StatusOptions
from tester.cli.verbs.campaign import campaign, status
from tests.browser import Opened, chromium
from tests.planted.bugs import BY_NAME
from tests.tester.campaign_directory.kept import options

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a campaign with failures, outside of its directory."""
    folder = tmp_path_factory.mktemp("page of a campaign")
    broken = BY_NAME["mi-victim-without-data"].plant(tmp_path_factory.mktemp("protocol"))
    kept = folder / "kept here"
    small = {"profile": "replacement", "leg_episodes": 6, "episodes": 48, "shrink_budget": 30}
    assert campaign(options(kept, protocol=str(broken), units=2, **small)) == 1
    file = folder / "status.html"
    assert status(StatusOptions(directory=kept, html=file)) == 0
    assert not CampaignDirectory(kept).lock().process_at_work()
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_a_complaint_and_asks_for_nothing(
    browser: Any, page: Path, scheme: str
) -> None:
    opened = Opened(browser, page, color_scheme=scheme)
    assert opened.asked == [page.as_uri()] and opened.problems == []
    assert opened.run("document.querySelectorAll('svg polyline').length") == 4
    curve = opened.run("document.querySelector('svg polyline').getBoundingClientRect().height")
    assert curve > 50, "a curve that rises"
    assert "failed" in opened.text("body") and "cells never executed" in opened.text("body")
    assert opened.hangs_out <= 0


def test_links_of_failures_lead_to_their_pages(browser: Any, page: Path) -> None:
    opened = Opened(browser, page)
    links = opened.run("[...document.querySelectorAll('.failures a')].map(a => a.href)")
    assert len(links) >= 4
    opened.tab.click(".failures a:text-is('page')")
    opened.tab.wait_for_selector("body.ready", timeout=60_000)
    assert opened.run("picture.run.transitions.length") > 0
    assert opened.problems == []
