"""``gpu-tester explore``: what it writes of a counterexample, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from slicc.text.command.exit_status import FINE, FOUND
from tester.cli.main import app
from tests.planted.bugs import BUGS

BY_NAME = {bug.name: bug for bug in BUGS}
MISUSE = 2


def gpu_tester(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_a_counterexample_is_a_leg_with_a_page(tmp_path: Path) -> None:
    planted = BY_NAME["msi-upgrade-is-not-refreshed"].plant(tmp_path)
    there = tmp_path / "there"
    result = gpu_tester(
        *("explore", "-p", str(planted), "--output", str(there), "--format", "json")
    )
    assert result.exit_code == FOUND
    leg = json.loads(result.stdout)["leg"]
    assert leg["same"] and leg["kind"] == "wrong-value" and not leg["difference"]
    assert Path(leg["file"]).name == "MSI-2x1-explore.leg"
    page = Path(leg["page"]).read_text(encoding="utf-8")
    assert "L1Cache" in page and "cpu1" in page
    again = gpu_tester("replay", leg["file"], "-p", str(planted), "--engine", "python")
    assert again.exit_code == FOUND and "load returned" in again.stdout


def test_nothing_is_written_where_nothing_is_found(tmp_path: Path) -> None:
    there = tmp_path / "there"
    result = gpu_tester("explore", "-p", "MSI", "--locations", "1", "--output", str(there))
    assert result.exit_code == FINE and "EXHAUSTED" in result.stdout
    assert not there.exists()


def test_a_directory_that_is_none_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = gpu_tester("explore", "-p", "MSI", "--output", str(tmp_path / "file"))
    assert result.exit_code == MISUSE and "--output" in result.stderr
