"""Several processes: the output of one, also when a leg fails, one dies or an interrupt comes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tester.campaign.campaign import Totals
from tester.campaign.coverage import Coverage
from tester.campaign.workers import LegResult, OnProgress, WorkerDied, Workers
from tester.cli.main import main
from tests.planted.bugs import BY_NAME
from tests.processes import call_command, heed_signals
from tests.sampling import sampled

ROOT = Path(__file__).parents[3]


def start(*words: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tester.cli", *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def run(*words: str, directory: Path) -> tuple[int, str]:
    """(exit status, stdout without the rates)."""
    with contextlib.chdir(directory):
        done = call_command(main, *words)
    assert "Traceback" not in done.err, done.err
    return done.status, re.sub(r"^\d[\d.]* s: .*$", "", done.out, flags=re.MULTILINE)


@pytest.mark.parametrize("jobs", sampled(["2", "5"], 2))
@pytest.mark.parametrize("engine", ["python", "native"])
def test_the_output_does_not_depend_on_the_number(tmp_path: Path, jobs: str, engine: str) -> None:
    episodes = {"python": "30", "native": "300"}[engine]
    words = ("-p", "MI", "--episodes", episodes, "--seed", "4", "--engine", engine)
    files = []
    for number in ("1", jobs):
        directory = tmp_path / number
        directory.mkdir()
        files.append(directory / "coverage.json")
        status, output = run(
            *words, "-j", number, "--coverage", "coverage.json", directory=directory
        )
        assert status == 0, output
        (directory / "output").write_text(output)
    assert (tmp_path / "1/output").read_text() == (tmp_path / jobs / "output").read_text()
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ("2", ("--engine", "python", "--no-shrink", "--leg-episodes", "12")),
        pytest.param("3", ("--engine", "python"), marks=pytest.mark.slow),
        pytest.param("2", ("--engine", "native", "--no-shrink"), marks=pytest.mark.slow),
    ],
)
def test_a_failure_is_the_same(tmp_path: Path, jobs: str, words: tuple[str, ...]) -> None:
    broken = BY_NAME["mi-victim-without-data"].plant(tmp_path)
    results = []
    for number in ("1", jobs):
        directory = tmp_path / number
        directory.mkdir()
        results.append(
            run("-p", str(broken), "--seed", "1", "--episodes", "2000", "-j", number, *words,
                directory=directory)
        )  # fmt: skip
        assert results[-1][0] == 1
    assert results[0] == results[1]
    one, other = (next((tmp_path / number).glob("*.leg")) for number in ("1", jobs))
    assert one.name == other.name and one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("ending", "status"), sampled([("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)], 2)
)
@pytest.mark.parametrize("jobs", sampled(["2", "1"], 2))
def test_a_signal_ends_all_of_them(tmp_path: Path, ending: str, status: int, jobs: str) -> None:
    """Nothing is compiled beside this run, so only the command itself handles signals."""
    process = start(
        "-p", "MI", "--episodes", "1000000", "--seed", "1", "--engine", "python", "-j", jobs,
        directory=tmp_path,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "passed" in line:
            break
    children = [int(each) for each in _children(process.pid)]
    assert jobs == "1" or len(children) == 2
    time.sleep(0.1)
    process.send_signal(getattr(signal, ending))
    output, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert "INTERRUPTED: " in output
    assert "Traceback" not in errors
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def _children(parent: int) -> list[str]:
    path = Path(f"/proc/{parent}/task/{parent}/children")
    if not path.exists():
        pytest.skip("this system does not list the children of a process")
    return path.read_text().split()


def passed(number: int) -> LegResult:
    return LegResult(number, totals=Totals(legs=1, episodes=10), coverage=Coverage("P"))


def results(
    work: Callable[[int, OnProgress], LegResult], count: int, jobs: int = 3
) -> list[LegResult]:
    found = []
    with Workers(jobs, work, lambda episodes: None) as workers:
        for result in workers.results():
            found.append(result)
            if len(found) == count:
                break
    return found


def test_results_come_in_order() -> None:
    def work(number: int, on_progress: OnProgress) -> LegResult:
        time.sleep(0.02 * ((number * 7) % 3))
        return passed(number)

    assert [result.number for result in results(work, 20)] == list(range(20))


def test_what_raises_is_left_to_whoever_asks() -> None:
    def work(number: int, on_progress: OnProgress) -> LegResult:
        if number == 2:
            raise ValueError("seen again where it is run again")
        return passed(number)

    found = results(work, 5)
    assert [result.totals is None for result in found] == [False, False, True, False, False]


def test_a_dead_worker_is_an_error() -> None:
    def work(number: int, on_progress: OnProgress) -> LegResult:
        if number == 3:
            os._exit(9)
        return passed(number)

    with pytest.raises(WorkerDied, match=r"leg 3 has died \(exit status 9\)"):
        results(work, 10)


def test_another_process_tries_what_one_died_of(tmp_path: Path) -> None:
    mark = tmp_path / "died"

    def work(number: int, on_progress: OnProgress) -> LegResult:
        if number == 3 and not mark.exists():
            mark.touch()
            os._exit(9)
        return passed(number)

    with Workers(2, work, lambda *_: None, tries=2) as workers:
        found = [result.number for result, _ in zip(workers.results(), range(10))]
    assert found == list(range(10)) and mark.exists()


def test_tasks_are_dealt_when_they_are_known() -> None:
    """Each here once the leg two before it was taken."""

    def work(task: str, on_progress: OnProgress) -> LegResult:
        return LegResult(int(task.removeprefix("leg ")))

    found = [4]

    def deal(number: int) -> str | None:
        return f"leg {number}" if number <= found[-1] + 3 else None

    with Workers(3, work, lambda *_: None) as workers:
        for result in workers.results(5, deal):
            found.append(result.number)
            if len(found) == 16:
                break
    assert found == list(range(4, 20))


def test_progress_of_all_is_summed() -> None:
    def work(number: int, on_progress: OnProgress) -> LegResult:
        on_progress(10 + number)
        return passed(number)

    heard: list[int] = []
    with Workers(1, work, heard.append) as workers:
        assert next(workers.results()).number == 0
    assert heard == [10]


@pytest.mark.parametrize(
    "words", [("--replay", "x.leg"), ("--trace", "all"), ("--diff-engines",), ("-j", "0")]
)
def test_options_that_need_one_process(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "x.leg").write_bytes(b"")
    status, _ = run("-j", "2", *words, directory=tmp_path)
    assert status == 2
