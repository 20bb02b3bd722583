"""Requests from a file: the leg that they make, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tester
from protocols.loader import LoadedProtocol, load
from runtime.statistics.words import TallyWord
from tester.cli.main import app
from tester.program.program import BARE, PLAIN
from tester.program.verifier import verify
from tester.trace_file import program
from tester.trace_file.leg import trace_leg
from tester.trace_file.reader import TraceError

HEAD = "tick,agent,operation,address,bytes\n"


@pytest.fixture(scope="module")
def mi() -> LoadedProtocol:
    return load("MI")


@pytest.fixture(scope="module")
def viper() -> LoadedProtocol:
    return load("GPU_VIPER")


def written(tmp_path: Path, *rows: str) -> Path:
    file = tmp_path / "a.csv"
    file.write_text(HEAD + "".join(f"{tick},{row}\n" for tick, row in enumerate(rows)))
    return file


def gpu_tester(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout + done.stderr


def test_a_file_that_cannot_be_read_is_named(mi: LoadedProtocol) -> None:
    with pytest.raises(TraceError, match=r"^no/such.csv: cannot be read: No such file"):
        tester.load_trace("no/such.csv", mi)


def test_requests_are_those_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "dma0,load,0x1000,128")
    status, text = gpu_tester("trace", file, "-p", "MI", "--engine", "python")
    assert status == 0 and ": 1 requests in 1 episodes\n" in text


def test_hits_and_misses_are_those_of_the_requests(mi: LoadedProtocol, tmp_path: Path) -> None:
    """A cache of one set of two ways: the third line evicts the first."""
    rows = ["0,store,0x000,4", "0,load,0x004,4", "0,load,0x040,4", "0,load,0x041,1"]
    rows += ["0,load,0x080,8", "0,load,0x084,4", "0,load,0x000,4"]
    sets = {"machine.L1Cache.cache.cacheMemory.sets": 1}
    leg = trace_leg(written(tmp_path, *rows), mi, sets)
    assert verify(leg.program) == []
    result = tester.replay(leg, mi, engine="python", stats=True)
    statistics = result.statistics
    assert result.passed and statistics is not None
    tally = {what: statistics.tally("L1Cache", what) for what in TallyWord}
    assert (tally[TallyWord.HITS], tally[TallyWord.MISSES]) == (3, 4)
    assert (tally[TallyWord.FILLS], tally[TallyWord.EVICTIONS]) == (4, 2)
    counts = {kind: sum(each.counts) for kind, each in statistics.latencies.items()}
    assert (counts["load"], counts["store"]) == (6, 1)
    assert statistics.hit_rate("L1Cache") == pytest.approx(3 / 7)


def test_requests_that_conflict_are_handed_over(mi: LoadedProtocol, tmp_path: Path) -> None:
    leg = trace_leg(
        written(tmp_path, "0,store,0,8", "1,load,0,8", "1,load,64,8", "0,store,0,1"), mi
    )
    made = leg.program
    assert made.episode_scope.tolist() == [BARE | PLAIN] * 4
    assert [made.waits_of(episode) for episode in range(4)] == [[], [(0, 1)], [], [(1, 1)]]
    assert made.expected[1, 0] == made.store_value[0, 0] != 0
    assert tester.replay(leg, mi, engine="python").passed


def test_an_episode_of_a_wavefront_ends_where_it_hands_over(
    viper: LoadedProtocol, tmp_path: Path
) -> None:
    rows = ["1,store,0,4", "1,load,64,4", "2,load,128,4", "2,load,0,4", "1,load,0,4"]
    rows += ["1,store,0,4"]
    made = trace_leg(written(tmp_path, *rows), viper).program
    assert made.episode_thread.tolist() == [1, 2, 2, 1, 1]
    assert [len(made.actions_of(episode)) for episode in range(5)] == [2, 1, 1, 1, 1]
    assert verify(made) == []


def test_an_access_of_many_bytes_has_pieces(mi: LoadedProtocol, tmp_path: Path) -> None:
    leg = trace_leg(written(tmp_path, "dma0,store,60,20", "cpu0,load,66,10"), mi)
    assert leg.program.action_size.tolist() == [4, 8, 8, 8, 2]
    assert tester.replay(leg, mi, engine="python").passed


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("cup0,load,0,4", "the system has no agent 'cup0'; did you mean cpu0?"),
        ("99,load,0,4", "the system has no agent '99'; there are cpu0, "),
        ("cpu0,load,0x3e,4", "4 bytes at 0x3e: it lies in two lines of 64 bytes"),
        ("cpu0,load,0,17", "17 bytes at 0x0: cpu0 accesses at most 16 at once"),
        ("cpu0,atomic,2,4", "an atomic operation has 4 or 8 bytes, at a multiple of that"),
        ("dma0,atomic,0,4", "dma0 makes no atomic operations"),
        ("dma0,fetch,0,4", "dma0 makes no instruction fetches"),
    ],
)
def test_what_an_agent_cannot_do_is_refused(
    row: str, message: str, mi: LoadedProtocol, tmp_path: Path
) -> None:
    file = written(tmp_path, "cpu0,load,0,4", row)
    with pytest.raises(TraceError) as caught:
        trace_leg(file, mi)
    assert str(caught.value).startswith(f"{file}:3: ") and message in str(caught.value)


def test_a_wavefront_needs_aligned_accesses(viper: LoadedProtocol, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=":2: 4 bytes at 0x2: a wavefront accesses 1, 2, 4 or 8"):
        trace_leg(written(tmp_path, "gpu0.1,load,2,4"), viper)


def test_too_many_are_refused_before_memory_is_taken(
    mi: LoadedProtocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MOST_CELLS", 2)
    with pytest.raises(TraceError, match="3 accesses of agents with 1 lanes are too many"):
        trace_leg(written(tmp_path, *["0,load,0,4"] * 3), mi)


def test_the_command_runs_it_and_says_what_it_costs(tmp_path: Path) -> None:
    file, stats, saved = written(tmp_path, "0,store,0,4", "1,load,0,4"), "a.json", "a.leg"
    status, text = gpu_tester(
        *("trace", file, "-p", "MI", "--engine", "python", "--stats", tmp_path / stats),
        *("--set", "machine.L1Cache.count=3", "--save-program", tmp_path / saved),
    )
    assert status == 0, text
    assert "2 requests in 2 episodes" in text
    costs = json.loads((tmp_path / stats).read_text())
    assert costs["machines"]["L1Cache"]["misses"] == 2
    status, text = gpu_tester("replay", tmp_path / saved, "--engine", "python")
    assert status == 0 and "2 episodes in 1 leg" in text


def test_bad_input_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("nothing")
    status, text = gpu_tester("trace", tmp_path / "b.csv", "-p", "MI")
    assert status == 2 and text.count("\n") == 1 and "b.csv:1: the first line is" in text
    status, text = gpu_tester("trace", tmp_path / "none.csv", "-p", "MI")
    assert status == 2 and text.count("\n") == 1 and "none.csv" in text
