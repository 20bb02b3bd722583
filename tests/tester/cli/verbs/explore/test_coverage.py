"""``gpu-tester coverage``, and the files that other verbs write for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slicc.coverage.file import read_cells
from tester.cli import session
from tester.cli.main import app

EXPLORE = ("explore", "-p", "MSI", "--locations", "1", "--caches", "1")
RUN = ("run", "-p", "MSI", "--episodes", "80", "--seed", "3", "--engine", "python", "-q")


def gpu_tester(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code in (0, 2), done.output
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    directory = tmp_path_factory.mktemp("coverage")
    explored, run = (str(directory / name) for name in ("explored.json", "run.json"))
    assert gpu_tester(*EXPLORE, "--coverage", explored).exit_code == 0
    assert gpu_tester(*RUN, "--coverage", run).exit_code == 0
    return explored, run


def test_an_exhausted_system_notes_what_it_reached(files: tuple[str, str]) -> None:
    cells = read_cells(Path(files[0]))
    cache = cells.machines["L1Cache"]
    assert len(cells.exhausted) == 1 and "L1Cache 0" in cells.exhausted[0].what
    assert not any(cache.counts.values())
    assert cache.ways["I", "Load"] == ("cpu0 loads line 0a",)
    way = cache.ways["M", "Load"]
    assert way[-1] == "cpu0 loads line 0a" and "cpu0 stores line 0a" in way
    assert ("M", "FwdGetS") in cache.counts and ("M", "FwdGetS") not in cache.ways


def test_a_bounded_search_is_no_exhausted_system(tmp_path: Path) -> None:
    words = ("--bound", "1", "--coverage", str(tmp_path / "c.json"))
    gpu_tester("explore", "-p", "MSI", "--locations", "1", *words)
    cells = read_cells(tmp_path / "c.json")
    assert not cells.exhausted and cells.machines["L1Cache"].ways


def test_files_are_put_together(files: tuple[str, str], tmp_path: Path) -> None:
    both = tmp_path / "both.json"
    done = gpu_tester("coverage", *files, "--output", str(both), "--missing")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("MSI (") and lines[1].startswith("L1Cache")
    assert any(line.startswith("exhausted system 1: system: L1Cache 0") for line in lines)
    table = json.loads(gpu_tester("coverage", str(both), "--format", "json").stdout)
    cells = table["machines"]["L1Cache"]
    hit = [cell for cell in cells if cell["status"] == "hit"]
    assert all(cell["hits"] for cell in hit) and len(hit) > 20
    listed = [line for line in lines if line.startswith("L1Cache (")]
    assert len(listed) == len(cells) - len(hit)
    assert {cell["status"] for cell in cells} <= {"hit", "reachable", "not-reached", "unsent"}


def test_files_of_another_text_are_refused(files: tuple[str, str], tmp_path: Path) -> None:
    done = gpu_tester("coverage", *files, "-p", "MI")
    assert done.exit_code == 2 and "is of another text of MSI" in done.stderr
    (tmp_path / "old").write_text('{"schema": "gpu-tester.coverage/1"}')
    done = gpu_tester("coverage", files[0], str(tmp_path / "old"))
    assert done.exit_code == 2 and "run it again" in done.stderr
    assert gpu_tester("coverage").exit_code == 2


def test_a_long_run_names_what_it_has_not_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LONG", 50)
    done = gpu_tester(*RUN[:-1], "--no-progress")
    assert "not hit: (" in done.stdout
    monkeypatch.setattr(session, "LONG", 81)
    assert "not hit: (" not in gpu_tester(*RUN[:-1], "--no-progress").stdout
