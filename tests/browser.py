"""A headless Chromium for tests; they are skipped, visibly, where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser of Playwright's."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (.[browser])"
    )
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"no browser here: {', '.join(_NAMES)}")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


class Opened:
    """A page in a tab, with everything that it complained about or asked for."""

    def __init__(self, browser: Any, file: Path, ready: str = "body.ready", **options: Any) -> None:
        self.problems: list[str] = []
        self.asked: list[str] = []
        options.setdefault("viewport", {"width": 1400, "height": 900})
        self.tab = browser.new_context(accept_downloads=True, **options).new_page()
        self.tab.on("console", lambda message: self.problems.append(message.text))
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.problems.append(f"dialog {dialog.message}"))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri())
        self.tab.wait_for_selector(ready, timeout=60_000)

    def text(self, selector: str) -> str:
        found: str = self.tab.inner_text(selector)
        return found

    def run(self, script: str) -> Any:
        """What an expression of the page's own world is."""
        return self.tab.evaluate(script)

    @property
    def hangs_out(self) -> int:
        """By how many pixels the page would scroll sideways."""
        return int(self.run("document.documentElement.scrollWidth - window.innerWidth"))

    @property
    def cursor(self) -> int:
        """The index of the chosen event."""
        return int(self.run("picture.page.cursor"))
