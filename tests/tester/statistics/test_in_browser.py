"""Pages of numbers in a narrow window (``-m browser``): tables scroll, pages do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tester.cli.main import app
from tests.browser import Opened, chromium

pytestmark = pytest.mark.browser


def test_wide_tables_scroll_in_themselves(tmp_path: Path) -> None:
    costs, score = tmp_path / "costs.html", tmp_path / "score.html"
    few = ("--episodes", "20", "--seed", "1", "--engine", "python")
    CliRunner().invoke(app, ["run", "-p", "MI", *few, "--stats", str(costs)])
    study = CliRunner().invoke(app, ["mutate", "-p", "MI", *few, "--sample", "2", "--format=html"])
    score.write_text(study.stdout)
    with chromium() as browser:
        for page in (costs, score):
            narrow = {"width": 500, "height": 900}
            opened = Opened(browser, page, ready="table", viewport=narrow)
            assert opened.run("document.querySelector('table').scrollWidth") > 500
            assert opened.hangs_out == 0
