"""``gcn litmus``: its report, its exit status, and the message for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.cli.litmus import litmus
from gpu.cli.litmus.mutants import mutate
from gpu.cli.litmus.report import block
from gpu.litmus import scenario
from gpu.litmus.library import names, shipped
from gpu.litmus.mutation import Attempt, Mutant
from gpu.litmus.series import Result, Seen, Verdict
from gpu.litmus.single_run import Machine
from gpu.memory_model.explanation import explain
from gpu.memory_model.model import judge
from gpu.wave_size import LANES
from tests.gpu.cli.calling import gcn
from tests.gpu.litmus.programs import CHAIN

MP = """scenario "MP"
model hsa
P0 @ group 0                    | P1 @ group 1
store x = 1 relaxed agent       | load x -> r0 relaxed agent

forbidden P1:r0 = {}
"""


def test_each_outcome_has_a_row() -> None:
    answer = gcn("litmus", "MP+relaxed+agent", "cas", "--runs", "5")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "passed MP+relaxed+agent, 5 runs" and "passed cas, 5 runs" in lines
    assert lines[-1] == "PASSED: 2 tests, 10 runs"
    assert any("P1:r0=1; P1:r1=0  weak" in line for line in lines)
    counts = [int(line.split()[0]) for line in lines if line.startswith("   ")]
    assert sum(counts) == 10


def test_weak_outcomes_are_reached_or_not_possible() -> None:
    answer = gcn(
        "litmus", "SB+acq-rel+agent", "LB+relaxed+agent", "IRIW+acq-rel+work-group", "--runs", "1"
    )
    assert answer.status == 0
    rows = [line for line in answer.out.splitlines() if " weak, " in line]
    assert [row.rpartition(", ")[2] for row in rows] == [
        "in a steered run", "in a steered run", "not possible here",
    ]  # fmt: skip


def test_an_outcome_that_is_refused_is_steered_to(tmp_path: Path) -> None:
    file = tmp_path / "chain.litmus"
    file.write_text(CHAIN)
    answer = gcn("litmus", str(file), "--runs", "1", "--target", "gfx900")
    assert answer.status == 1
    assert "forbidden, in a steered run" in answer.out
    assert "  steered run: group 0 on unit" in answer.out


def test_runs_share_launches() -> None:
    words = "litmus", "MP+relaxed+agent", "IRIW+relaxed+wavefront", "--instances", "32", "--runs"
    one, two = (gcn(*words, "40", "--jobs", jobs) for jobs in ("1", "2"))
    assert one.status == 0 and one.out == two.out
    lines = one.out.splitlines()
    assert lines[0] == "passed MP+relaxed+agent, 40 runs in 2 launches"
    assert "passed IRIW+relaxed+wavefront, 40 runs in 3 launches" in lines  # of 16 instances
    counts = [int(line.split()[0]) for line in lines if line.startswith("   ")]
    assert sum(counts) == 80 and lines[-1] == "PASSED: 2 tests, 80 runs"


def test_many_runs_share_launches_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [litmus._instances(runs) for runs in (1, 100, 410, 700, 10**6)] == [1, 1, 4, 4, LANES]
    monkeypatch.setattr(litmus, "_LAUNCHES", 5)
    answer = gcn("litmus", "CoWW+relaxed+agent", "--runs", "21")
    assert answer.out.startswith("passed CoWW+relaxed+agent, 21 runs in 6 launches\n")


def test_instances_are_a_power_of_two() -> None:
    for text, why in (("3", "3 is no power of two"), ("128", "1 to 64 are possible")):
        answer = gcn("litmus", "cas", "--instances", text)
        assert (answer.status, answer.out) == (2, "") and why in answer.err
    answer = gcn("litmus", "cas", "--instances", "2", "--mutate")
    assert (answer.status, answer.out) == (2, "") and "--instances: mutants" in answer.err


def test_a_refused_outcome_fails(tmp_path: Path) -> None:
    file = tmp_path / "a.litmus"
    file.write_text(MP.format("0 or P1:r0 = 1"))
    answer = gcn("litmus", str(file), "--runs", "2")
    assert answer.status == 1
    assert "refused: forbidden" in answer.out and "of seed 1: group 0 on unit" in answer.out
    assert answer.out.endswith("FAILED: 1 of 1 tests, 2 runs\n")


def test_a_mistake_is_shown_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "a.litmus"
    file.write_text(MP.format("= 0"))
    answer = gcn("litmus", "cas", str(file))
    assert (answer.status, answer.out) == (2, "")
    assert "a.litmus:6:" in answer.err and "^" in answer.err


def test_a_test_that_cannot_be_judged_or_written_is_named(tmp_path: Path) -> None:
    columns = [f"P{n} @ group {n}" for n in range(6)]
    stores = [" | ".join(f"store x = {6 * row + n + 1}" for n in range(6)) for row in range(2)]
    loads = " | ".join(["load x -> r0"] * 6)
    racy = tmp_path / "racy.litmus"
    lines = ["model hsa", " | ".join(columns), *stores, loads, "exists x = 3", ""]
    racy.write_text("\n".join(lines))
    wide = tmp_path / "wide.litmus"
    loads_of_one = [f"load x{n} -> r{n} (8 bytes)" for n in range(62)]
    wide.write_text("\n".join(["model hsa", "P0 @ group 0", *loads_of_one, "exists P0:r0 = 0", ""]))
    for file, why in ((racy, "too many to be judged"), (wide, "more than 256 registers")):
        answer = gcn("litmus", "cas", str(file), "--runs", "1")
        assert (answer.status, answer.out) == (2, "")
        assert f'{file.name}": ' in answer.err and why in answer.err


def test_names_that_are_near_are_proposed(tmp_path: Path) -> None:
    answer = gcn("litmus", "MP+relxed+agent")
    assert answer.status == 2 and "did you mean MP+relaxed+agent?" in answer.err
    answer = gcn("litmus", str(tmp_path / "none.litmus"))
    assert answer.status == 2 and "cannot read" in answer.err


def test_processors_that_do_not_run_are_refused() -> None:
    answer = gcn("litmus", "cas", "--target", "gfx90a")
    assert (answer.status, answer.out) == (2, "")
    assert "'gfx90a' does not run here; gfx803 and gfx900 do" in answer.err


def test_list() -> None:
    answer = gcn("litmus", "--list")
    assert [line.split()[0] for line in answer.out.splitlines()] == list(names())


def test_a_forbidden_outcome_is_explained() -> None:
    test = shipped("MP+acq-rel+agent")
    stale = (1, 0)
    seen = {stale: Seen(Verdict.forbidden, count=1, number=0)}
    result = Result(test, 1, 1, judge(test.program, test.rules), seen)
    lines = list(block("MP", result))
    row = "       1  P1:r0=1; P1:r1=0  forbidden, first in run 0"
    assert lines[:2] == ["FAILED MP, 1 runs", row]
    assert "  " + explain(test.program, stale, test.rules).splitlines()[0] in lines
    assert lines[-1].startswith("  run 0 of seed 1: group 0 on unit")


def test_mutants_are_counted() -> None:
    answer = gcn("litmus", "MP+acq-rel+agent", "--mutate", "--runs", "1")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    lost = "operation 2 of thread 1: s_waitcnt vmcnt(0) lgkmcnt(0)"
    assert "  needless  operation 1 of thread 1: s_waitcnt vmcnt(0) lgkmcnt(0): left out" in lines
    assert f"  shown     {lost}: left out, by a steered run" in lines
    hidden = f"  hidden    {lost}: only s_waitcnt lgkmcnt(0), in 166 states: FLAT instructions"
    assert any(line.startswith(hidden) for line in lines)
    last = "12 mutants: 2 shown of 2 that can show (100.0 %), 4 hidden, 6 needless"
    assert lines[-1] == last


def test_mutants_are_counted_by_row_of_the_table() -> None:
    answer = gcn("litmus", "MP+rmw-acquire+data", "MP+rmw-acquire+relaxed", "--mutate")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    rows = lines[lines.index("by row of the table (shown, hidden, needless, missed)") + 1 : -1]
    counts = {name: numbers for *numbers, name in (row.split(maxsplit=4) for row in rows)}
    assert counts["rmw acquire agent: s_waitcnt vmcnt(0): left out"] == ["1", "1", "0", "0"]
    assert counts["rmw acquire agent: buffer_wbinvl1_vol: left out"] == ["1", "1", "0", "0"]
    (why,) = (row for row in counts if row.startswith("load relaxed agent: access glc"))
    assert why.endswith("what was newest when its line came, which suffices")
    numbers = [int(number) for row in counts.values() for number in row]
    assert sum(numbers) == int(lines[-1].split()[0])


def test_a_missed_mutant_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missed(
        test: scenario.Test, machine: Machine, seed: int, runs: int, mutant: Mutant
    ) -> Attempt:
        return Attempt(mutant, matters=True)

    monkeypatch.setattr("gpu.cli.litmus.mutants.attempt", missed)
    assert mutate({"cas": shipped("cas")}, Machine(), 1, 7, None)
    rows = capsys.readouterr().out.splitlines()
    assert all(row.startswith("  MISSED    ") for row in rows[1:-1])
    assert all(row.endswith(", not seen in 7 runs") for row in rows[1:-1])
    count = len(rows) - 2
    assert (
        rows[-1]
        == f"{count} mutants: 0 shown of {count} that can show (0.0 %), 0 hidden, 0 needless"
    )
