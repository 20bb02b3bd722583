"""``gpu-tester explore``: what it writes of a counterexample, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slicc.text.command.exit_status import FINE, FOUND
from tester.cli.main import app
from tester.litmus.shipped import shipped_folder
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
    assert (
        "outside of this system: atomic (--ops); replacements (--lines); false sharing "
        "(--locations); transitions (--cells): L1Cache 24 of 54, Directory 25 of 41\n"
    ) in result.stdout


def test_a_search_that_stopped_does_not_know_what_no_run_makes() -> None:
    result = gpu_tester("explore", "-p", "MSI", "--locations", "1", "--max-states", "100")
    assert result.exit_code == FINE and "LIMIT: " in result.stdout
    assert "false sharing (--locations)\n" in result.stdout
    assert "transitions (--cells)" not in result.stdout
    assert "; 1 MemoryMsg was under way at once" in result.stdout


@pytest.mark.parametrize("scenario", [False, True])
def test_the_time_ends_a_search(scenario: bool) -> None:
    test = [str(shipped_folder("litmus") / "CoRR.litmus")] if scenario else []
    result = gpu_tester("explore", "-p", "MSI", "--max-seconds", "0", *test)
    assert result.exit_code == FINE
    last = result.stdout.splitlines()[-1]
    if scenario:
        assert last == (
            "LIMIT: 1 of 1 scenario not explored to the end; more states or time allow more"
        )
    else:
        assert last.startswith("LIMIT: the time is over; clean so far, complete for every run of")


def test_a_directory_that_is_none_is_refused_before_the_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = gpu_tester("explore", "-p", "MSI", "--output", str(tmp_path / "file"))
    assert result.exit_code == MISUSE and "--output" in result.stderr


@pytest.mark.parametrize("scenario", [False, True])
def test_too_little_memory_is_said_before_the_work(
    scenario: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.native.system.available_memory", lambda: 1_000_000)
    test = [str(shipped_folder("litmus") / "CoRR.litmus")] if scenario else []
    result = gpu_tester("explore", "-p", "MSI", "--max-states", "20000", *test)
    assert result.exit_code == MISUSE and not result.stdout
    assert "--max-states 20000 may need 2 MB of memory, and this machine has 1 MB" in result.stderr


def test_scenarios_are_decided(tmp_path: Path) -> None:
    tests = [str(shipped_folder("litmus") / f"{name}.litmus") for name in ("CoRR", "MP+line")]
    done = gpu_tester("explore", "-p", "MSI", *tests, "--no-progress")
    assert done.exit_code == FINE and "EXHAUSTED: 2 scenarios" in done.stdout
    assert done.stdout.count("never, in every run") == 2
    table = json.loads(gpu_tester("explore", "-p", "MSI", tests[0], "--format", "json").stdout)
    assert table[0]["verdict"] == "exhausted" and len(table[0]["outcomes"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "-p MSI --caches 2 --set machine.L1Cache.count=3",
            "--caches 2 and --set machine.L1Cache.count=3 decide the same",
        ),
        ("-p MSI --engines", "--engines would have no effect: MSI has no DMA engine"),
        ("-p MI --engines --ops atomic", "MI has no DMA engine that does any of --ops atomic"),
        (
            "-p MSI --ops load --increments 2",
            "--increments 2 would have no effect: no agent makes fetch-adds (--ops load,atomic",
        ),
        ("-p MSI --increments 2", "(--ops load,store,atomic would)"),
        ("-p MSI --ops=", "--ops '': one is missing; there are load, store, "),
        ("-p MSI --ops load,,store", "--ops load,,store: one is missing"),
        ("-p MSI --ops laod", "--ops laod: there are load, store, "),
    ],
)
def test_what_nothing_could_obey_is_refused(words: str, message: str) -> None:
    done = gpu_tester("explore", *words.split())
    assert done.exit_code == MISUSE and message in done.stderr, done.output
    assert not done.stdout


@pytest.mark.parametrize("words", ["--ops atomic --increments 2", "--engines --ops load"])
def test_what_is_obeyed_is_not(words: str) -> None:
    few = ("--max-states", "200", "--no-progress")
    assert gpu_tester("explore", "-p", "MI", *words.split(), *few).exit_code == FINE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{migratory}", "migratory.litmus: a scenario without conditions has nothing"),
        ("{SB} --caches 3", "--caches has no effect with a scenario"),
        ("--model tso", "--model has no effect without a scenario"),
        ("{none}", "cannot be read"),
    ],
)
def test_misuse_with_scenarios(words: str, message: str) -> None:
    files = {name: shipped_folder("litmus") / f"{name}.litmus" for name in ("SB", "none")}
    files["migratory"] = shipped_folder("processors") / "migratory.litmus"
    done = gpu_tester("explore", "-p", "MSI", *words.format(**files).split())
    assert done.exit_code == MISUSE and message in done.stderr


@pytest.mark.parametrize(
    ("setting", "verbs", "message"),
    [
        ("machine.L1Cache.count = 99", ("explore", "litmus"), "99: must be between 0 and 64"),
        ("machine.L1Cache.cuont = 2", ("explore", "litmus"), "did you mean `count`?"),
        ("line_size = 32", ("explore",), "line_size: exploration has its own"),
        ("machine.L1Cache.count = 12", ("explore",), "12 agents, of 1 to 8"),
    ],
)
def test_what_a_scenario_sets_is_blamed_at_its_place(
    setting: str, verbs: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.litmus"
    good = "set machine.Directory.count = 1"
    file.write_text(f"{good}\nset {setting}\nP0|P1\nstore A = 1|load A -> r0\nexists P1:r0 = 1\n")
    for verb in verbs:
        done = gpu_tester(verb, str(file), "-p", "MSI")
        assert done.exit_code == MISUSE and "--set" not in done.stderr
        assert f"a.litmus:2:1\n  |\n2 | set {setting}\n" in done.stderr
        assert message in done.stderr
    done = gpu_tester("explore", str(file), "-p", "MSI", "--set", "line_size=64")
    assert done.stderr == f"gpu-tester: {file}: --set line_size: exploration has its own\n"
