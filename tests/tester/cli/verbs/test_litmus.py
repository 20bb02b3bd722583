"""Scenarios at the command line: ``litmus``, and the verbs that take them as they take legs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slicc.scenario_text.parser import parse_scenario, read_scenario
from slicc.source import SourceFile
from tests.planted.bugs import BY_NAME
from tests.tester.cli.test_verbs import empty_directory, gpu_tester
from tests.tester.scenarios import MP, SB

__all__ = ["empty_directory"]

PYTHON = ("--engine", "python")
RACE_FREE = "protocol MI\nP0 | P1\nstore A = 1 |\n| after P0\n| load A -> 1\n"


def write(text: str, name: str = "a.litmus") -> str:
    Path(name).write_text(text)
    return name


def test_outcomes_are_counted() -> None:
    done = gpu_tester("litmus", write(SB), "-p", "MSI", "--runs", "12", *PYTHON, width=200)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "ok     a, 12 runs, 3 of the 3 outcomes of SC seen"
    assert sum(int(line.split()[0]) for line in lines[1:4]) == 12
    assert len({line.partition("P0")[2] for line in lines[1:4]}) == 3
    assert lines[4] == "  exists P0:r0 = 0 and P1:r1 = 0: sc forbids it, not seen"
    assert lines[5] == "PASSED: 1 scenario, 12 runs"
    again = gpu_tester("litmus", "a.litmus", "-p", "MSI", "--runs", "12", *PYTHON)
    assert again.stdout == done.stdout


def test_the_model_is_how_it_is_driven_and_judged() -> None:
    done = gpu_tester(
        *("litmus", write(SB), "-p", "MSI", "--runs", "30", "--model", "tso", *PYTHON), width=200
    )
    assert done.exit_code == 0
    assert "4 of the 4 outcomes of TSO seen" in done.stdout
    assert "tso allows it, seen in " in done.stdout


def test_for_machines() -> None:
    write(SB)
    write(RACE_FREE, "b.litmus")
    done = gpu_tester("litmus", ".", "-p", "MI", "--runs", "3", "--format", "json", *PYTHON)
    racy, free = json.loads(done.stdout)
    assert (racy["file"], racy["model"], racy["allowed"], racy["runs"]) == ("a.litmus", "sc", 3, 3)
    assert sum(each["count"] for each in racy["outcomes"]) == 3
    assert (free["file"], free["model"], free["outcomes"], free["failed"]) == (
        "b.litmus",
        None,
        [],
        None,
    )


def test_a_forbidden_outcome_is_marked_saved_and_replayed(tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    main = str(BY_NAME["msi-upgrade-is-not-refreshed"].plant(planted))
    text = MP.replace("store x = 1", "atomic add x 1").replace("load x", "atomic add x 1")
    text = text.replace("P1:r0 = 1 and P1:r1 = 0", "x = 1")
    done = gpu_tester("litmus", write(text), "-p", main, "--runs", "9", *PYTHON, width=200)
    assert done.exit_code == 1
    assert "FAILED a, 9 runs" in done.stdout
    assert "x=1; y=1   <-- forbidden by sc; refused by line 6" in done.stdout
    saved = "a-MSI-failed.litmus"
    assert f"  gpu-tester replay {saved} --protocol {main}" in done.stdout
    read = parse_scenario(SourceFile(saved, Path(saved).read_text()))
    assert len(read.keys) == len(read.delays) == 1
    again = gpu_tester("replay", saved, "-p", main)
    assert again.exit_code == 1
    assert "<-- forbidden by sc" in again.stdout
    assert "history of line" in again.stdout and "MSI-cache.sm:" in again.stdout
    Path(saved).unlink()
    Path(saved).mkdir()
    done = gpu_tester("litmus", "a.litmus", "-p", main, "--runs", "9", *PYTHON)
    assert done.exit_code == 1 and "FAILED: 1 of 1 scenario" in done.stdout
    assert f"gpu-tester: {saved}: Is a directory" in done.stderr
    assert "gpu-tester replay" not in done.stdout


def test_a_race_free_scenario_is_a_leg() -> None:
    write(RACE_FREE)
    replayed = gpu_tester("replay", "a.litmus", *PYTHON)
    assert replayed.exit_code == 0
    assert replayed.stdout.splitlines()[-1].endswith("transitions/s")
    assert "PASSED: 2 episodes in 1 leg" in replayed.stdout
    verified = gpu_tester("verify", "a.litmus")
    assert verified.stdout.startswith("verified: 2 episodes of 5 agents, 2 actions")
    run = gpu_tester("litmus", "a.litmus", "--runs", "3", *PYTHON)
    assert run.stdout.splitlines() == ["ok     a, 3 runs", "PASSED: 1 scenario, 3 runs"]


def test_one_run_is_counted_as_one() -> None:
    write(RACE_FREE)
    run = gpu_tester("litmus", "a.litmus", "--runs", "1", *PYTHON)
    assert run.stdout.splitlines()[-1] == "PASSED: 1 scenario, 1 run"


def test_a_leg_is_no_scenario_and_becomes_one_by_shrinking() -> None:
    """What was said is that the file is no UTF-8 text."""
    gpu_tester("generate", "a b.leg", "-p", "MI", "--leg-episodes", "3", "--seed", "1")
    refused = gpu_tester("litmus", "a b.leg", *PYTHON)
    assert refused.exit_code == 2
    command = "gpu-tester shrink 'a b.leg' -o 'a b.litmus'"
    assert f"a b.leg: a replay file; {command} writes a scenario" in refused.stderr


def test_a_failing_scenario_is_reported_and_shrunk(tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    main = str(BY_NAME["msi-line-of-the-owner-is-not-kept"].plant(planted))
    text = "P0|P1|P2\nstore B = 5|\nstore A = 1|\n|after P0|\n|load A -> 1|\n||after P0\n||load A\n"
    write(text)
    run = gpu_tester("litmus", "a.litmus", "-p", main, "--runs", "4", *PYTHON)
    assert run.exit_code == 1
    assert "  gpu-tester replay a-MSI-failed.litmus" in run.stdout
    replayed = gpu_tester("replay", "a-MSI-failed.litmus", "-p", main, *PYTHON)
    assert replayed.exit_code == 1
    assert "BUG: " in replayed.stdout
    shrunk = gpu_tester("shrink", "a-MSI-failed.litmus", "-p", main, "-o", "b.litmus", *PYTHON)
    assert shrunk.exit_code == 0, shrunk.output
    small = read_scenario("b.litmus")
    assert len(list(small.steps())) <= 4
    assert small.title == f"{shrunk.stdout.splitlines()[0]}, shrunk"
    bugs = []
    for file in ("b.leg", "b.litmus"):
        again = gpu_tester("replay", file, "-p", main, *PYTHON, "--no-progress")
        assert again.exit_code == 1, again.output
        bugs += [line for line in again.stdout.splitlines() if line.startswith("BUG: ")]
    assert len(bugs) == 2 and bugs[0] == bugs[1]


@pytest.mark.parametrize(
    ("verb", "text", "message"),
    [
        ("replay", "P0 | P1\nstore A = 1 | load A\n", "two operations race for byte"),
        ("litmus", "P0 | P1\nstore A = 1 | load A\n", "two operations race for byte"),
        ("verify", "P0 | P1\nstore A = 1 | load A\n", "two operations race for byte"),
        ("shrink", "P0 | P1\nstore A = 1 | load A\n", "two operations race for byte"),
        ("verify", MP, "is judged by `litmus` and `replay` alone"),
        ("shrink", MP, "is judged by `litmus` and `replay` alone"),
        ("replay", "cpu7\nload A\n", "the system has no agent cpu7"),
        ("litmus", "set machine.L1Cache.count = -1\nP0\nload A\n", "machine.L1Cache.count"),
        (
            "litmus",
            "set machine.L1Cache.count = 0\nP0\nload A\n",
            "fetch-adds; machine.L1Cache.count is 0",
        ),
        ("litmus", "set machine.X.count = 2\nP0\nload A\n", "machine.X"),
        ("litmus", "without gpu\nP0\nload A\n", "the system has no group of agents gpu"),
        ("litmus", "protocol MSI\nP0\nload A\n", "the scenario is for MSI, the protocol is MI"),
        ("litmus", "delays unifrom\nP0\nload A\n", "did you mean `uniform`?"),
        ("litmus", SB.replace("exists", "forall"), "sc allows what `forall` rules out"),
    ],
)
def test_bad_texts_are_one_message(verb: str, text: str, message: str) -> None:
    write(text)
    done = gpu_tester(verb, "a.litmus", "-p", "MI", width=200)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "a.litmus:" in done.stderr
    assert "Traceback" not in done.output
    assert [path.name for path in Path().iterdir()] == ["a.litmus"]


@pytest.mark.parametrize("text", [MP, RACE_FREE])
def test_a_scenario_is_drawn(text: str) -> None:
    done = gpu_tester("report", write(text), "-p", "MI", *PYTHON)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("passed, ")
    assert Path("a.html").stat().st_size > 10_000


def test_a_text_needs_a_protocol() -> None:
    done = gpu_tester("litmus", write(MP))
    assert done.exit_code == 2
    assert "a.litmus names no protocol: --protocol NAME does" in " ".join(done.stderr.split())


def test_what_the_command_sets_is_in_the_file_of_a_failure(tmp_path: Path) -> None:
    """It was left out, so that the replay ran in another system."""
    planted = tmp_path / "planted"
    planted.mkdir()
    main = str(BY_NAME["msi-line-of-the-owner-is-not-kept"].plant(planted))
    text = 'set "memory.latency" = 40\nP0|P1|P2\nstore B = 5|\nstore A = 1|\n|after P0\n'
    write(text + "|load A -> 1|\n||after P0\n||load A\n")
    given = ("--set", "network.latency=7", "--set", "memory.latency=50")
    run = gpu_tester("litmus", "a.litmus", "-p", main, "--runs", "4", *given, *PYTHON)
    assert run.exit_code == 1
    saved = Path("a-MSI-failed.litmus").read_text()
    assert 'set "network.latency" = 7\nset "memory.latency" = 40\n' in saved
    for latency, file in (("8", "a-MSI-failed-2.litmus"), ("7", "a-MSI-failed.litmus")):
        other = ("--set", f"network.latency={latency}", "--set", "memory.latency=50")
        run = gpu_tester("litmus", "a.litmus", "-p", main, "--runs", "4", *other, *PYTHON)
        assert f"  gpu-tester replay {file} " in run.stdout, "a failure does not replace another"
    assert Path("a-MSI-failed.litmus").read_text() == saved
    assert gpu_tester("replay", "a-MSI-failed.litmus", "-p", main, *PYTHON).exit_code == 1
