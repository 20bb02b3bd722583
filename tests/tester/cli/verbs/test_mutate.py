"""``gpu-tester mutate``: its output, its files, and what it refuses."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from protocols import shipped
from slicc.compiler import compile
from slicc.coverage.mutants import Fate, counted
from slicc.coverage.results import read_results
from slicc.mutation.mutants import mutants
from tester.cli.main import app
from tester.cli.verbs.mutate import sampled

SMALL = ("mutate", "-p", "MI", "--sample", "12", "--episodes", "70")


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gpu_tester(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    every = mutants(compile(shipped()["MI"]).protocol)
    small, large = sampled(every, 12), sampled(every, 30)
    assert len(small) == 12 and len(large) == 30
    assert [each for each in large if each in small] == list(small)
    assert sampled(every, 10_000) == every == sampled(every, None)


def test_the_report_has_tables_and_survivors_and_a_score() -> None:
    result = gpu_tester(*SMALL)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("operator") and any(line.startswith("machine") for line in lines)
    assert any(line.startswith("SCORE: ") and "12 of 426 mutants" in line for line in lines)


def test_json_and_html_say_the_same_and_results_are_kept(tmp_path: Path) -> None:
    kept = ("--output", "kept")
    found = json.loads(gpu_tester(*SMALL, *kept, "--format", "json").stdout)
    assert found["schema"] == "gpu-tester.mutation/1" and len(found["mutants"]) == 12
    assert {each["fate"] for each in found["mutants"]} <= {"killed", "survived", "equivalent"}
    for each in found["mutants"]:
        assert (each["fate"] == "killed") == bool(each.get("verdict"))
        assert (each["fate"] == "killed") == (not each["diff"])
        assert each["where"] in each["mutant"] and type(each.get("changed", 0)) is int
    before = (tmp_path / "kept" / "mutants.jsonl").read_bytes()
    again = gpu_tester(*SMALL, *kept, "--format", "json")
    assert json.loads(again.stdout) == found
    assert (tmp_path / "kept" / "mutants.jsonl").read_bytes() == before, "nothing was run again"
    report = tmp_path / "report.json"
    report.write_text(again.stdout)
    study = read_results([report], found["digest"], report).study
    assert study is not None and counted(study.mutants)[Fate.KILLED] == found["total"]["killed"]
    table = {machine.name: machine for machine in compile(shipped()["MI"]).protocol.machines}
    for mutant in study.mutants:
        machine = table[mutant.machine]
        assert {*mutant.cells} <= {(cell.state, cell.event) for cell in machine.cells}
        assert mutant.cells or mutant.where.isidentifier(), "the name of a body"
    page = gpu_tester(*SMALL, *kept, "--format", "html").stdout
    HTMLParser().feed(page)
    assert f"{found['total']['score']:.1f} %" in page
    for name in found["survivors"]:
        line = next(each["line"] for each in found["mutants"] if each["mutant"] == name)
        assert f":{line};" in page


def test_the_engines_give_the_same_report() -> None:
    words = (*SMALL, "--episodes", "12", "--format", "json")  # an object for all tests here
    natively = gpu_tester(*words, "--engine", "native")
    assert natively.exit_code == 0
    assert gpu_tester(*words, "--engine", "python").stdout == natively.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--episodes", "0"), "--episodes"),
        (("--sample", "0"), "--sample"),
        (("--profile", "none"), "none"),
        (("--include", "nowhere"), "nowhere"),
        (("--protocol", "MSX"), "MSX"),
        (("--format", "xml"), "xml"),
        (("--output", "file"), "--output file: cannot be written: file is not a directory"),
    ],
)
def test_bad_input_is_one_message(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("kept")
    result = gpu_tester(*SMALL, *words)
    assert result.exit_code == 2, result.output
    assert message in result.stderr and "Traceback" not in result.stderr
    assert (tmp_path / "file").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_another_study_in_the_directory_is_refused(tmp_path: Path) -> None:
    words = (*SMALL, "--output", "kept", "--quiet", "--episodes")
    assert gpu_tester(*words, "1").exit_code == 0
    before = (tmp_path / "kept" / "mutants.jsonl").read_bytes()
    result = gpu_tester(*words, "2")
    assert result.exit_code == 2 and "it is a study with episodes 1, not 2" in result.stderr
    assert (tmp_path / "kept" / "mutants.jsonl").read_bytes() == before


def test_exploration_needs_the_native_engine() -> None:
    result = gpu_tester(*SMALL, "--explore", "1000", "--engine", "python")
    assert result.exit_code == 2 and "--explore needs the native engine" in result.stderr
