"""``shrink``, and legs that carry their protocol."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tester.cli.main import app
from tests.planted.bugs import BY_NAME

PYTHON = ("--engine", "python")


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gpu_tester(*words: str, status: int) -> Result:
    result = CliRunner().invoke(app, list(words), terminal_width=200)
    assert result.exit_code == status, result.output
    return result


def test_a_leg_carries_its_protocol(tmp_path: Path) -> None:
    """Found, then shrunk and replayed where the protocol is not."""
    directory = tmp_path / "mine"
    directory.mkdir()
    main = BY_NAME["mi-dma-write-not-acknowledged"].plant(directory)
    words = ("--episodes", "100", "--leg-episodes", "12", "--seed", "1", "--no-shrink", *PYTHON)
    report = gpu_tester("run", "--protocol", str(main), *words, status=1).output
    assert "likely cause" in report
    assert "the least that fails" not in report
    assert "in this least leg" not in report
    directory.rename(tmp_path / "elsewhere")
    [leg] = tmp_path.glob("*.leg")
    found = json.loads(gpu_tester("shrink", leg.name, "--format", "json", *PYTHON, status=0).stdout)
    assert found["verdict"] == "hang store"
    assert found["operations"] <= found["accesses"] <= 4
    assert found["blamed"][0]["place"].startswith("MI-")
    assert found["minimal"]
    assert found["file"] == leg.with_suffix(".min.leg").name
    replayed = gpu_tester("replay", found["file"], *PYTHON, status=1).output
    assert "BUG: " in replayed
    again = gpu_tester("shrink", found["file"], *PYTHON, "-o", "again.leg", status=0).output
    assert "nothing can be removed: tried" in again
    assert "\nsuspect\n  1. " in again


def test_the_history_is_that_of_the_least_leg(tmp_path: Path) -> None:
    """Whole, where that of the leg which was found leaves out most of its rows."""
    main = BY_NAME["mi-two-owners"].plant(tmp_path)
    words = ("--episodes", "100", "--leg-episodes", "12", "--seed", "1", *PYTHON)
    few = ("--shrink-budget", "60")  # nothing is blamed then, which takes as long
    report = gpu_tester("run", "-p", str(main), *words, *few, status=1).output
    assert report.index("the least that fails") < report.index("in this least leg")
    assert re.search(r"history of line 0x\w+\n", report)
    assert "not shown" not in report
    [leg] = tmp_path.glob("*leg?.leg")
    found = gpu_tester("replay", leg.name, *PYTHON, status=1).output
    assert "in this least leg" not in found
    assert re.search(r"history of line .* rows not shown: --history all", found)


def test_a_leg_that_passes_is_refused(tmp_path: Path) -> None:
    gpu_tester("generate", "a.leg", "-p", "MI", "--leg-episodes", "3", "--seed", "1", status=0)
    result = gpu_tester("shrink", "a.leg", *PYTHON, status=2)
    assert "a.leg: it does not fail here (MI)" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.leg"]


def test_a_budget_cuts_the_search(tmp_path: Path) -> None:
    main = BY_NAME["mi-hands-on-what-it-has-not"].plant(tmp_path)
    words = ("--episodes", "100", "--leg-episodes", "12", "--seed", "1", *PYTHON)
    report = gpu_tester("run", "-p", str(main), *words, "--shrink-budget", "5", status=1).output
    assert "cut at its limit: tried 5 candidates" in report
    assert "suspect" not in report
    assert "likely cause" in report


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_what_was_found_outlives_a_full_disk(tmp_path: Path) -> None:
    """2 would be misuse; the files that are missing are named."""
    main = BY_NAME["mi-hands-on-what-it-has-not"].plant(tmp_path)
    full = "gpu-tester: /dev/full: No space left on device\n"
    words = ("--episodes", "100", "--leg-episodes", "12", "--seed", "1", "--no-shrink", *PYTHON)
    for option in ("--coverage", "--stats"):
        done = gpu_tester("run", "-p", str(main), *words, option, "/dev/full", status=1)
        assert "BUG: " in done.stdout and full in done.stderr
    [leg] = tmp_path.glob("*.leg")
    for option in ("--coverage", "--trace-out"):
        done = gpu_tester("replay", leg.name, *PYTHON, option, "/dev/full", status=1)
        assert "BUG: " in done.stdout and full in done.stderr


def test_a_scenario_names_its_protocol_and_runs_by_itself(tmp_path: Path) -> None:
    mine, kept = tmp_path / "mine", tmp_path / "kept"
    mine.mkdir()
    kept.mkdir()
    main = BY_NAME["mi-owner-not-changed"].plant(mine)
    words = ("--episodes", "100", "--leg-episodes", "12", "--seed", "1", "--no-shrink", *PYTHON)
    gpu_tester("run", "-p", str(main), *words, status=1)
    [leg] = tmp_path.glob("*.leg")
    few = ("--budget", "200", *PYTHON)
    gpu_tester("shrink", leg.name, "-o", "kept/a.litmus", *few, status=0)
    assert f'protocol "../mine/{main.name}"\n' in (kept / "a.litmus").read_text()
    assert "BUG: " in gpu_tester("replay", "kept/a.litmus", *PYTHON, status=1).output
    gpu_tester("litmus", "kept", "--runs", "1", *PYTHON, status=1)


def test_a_scenario_leads_to_no_protocol_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "P.slicc").write_text("secret")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir("below")
    Path("a.litmus").write_text('protocol "../P.slicc"\nP0\nload A\n')
    for verb in ("replay", "litmus", "explore"):
        output = gpu_tester(verb, "a.litmus", status=2).output
        assert "secret" not in output
        assert "its protocol ../P.slicc lies neither below the working directory" in output
