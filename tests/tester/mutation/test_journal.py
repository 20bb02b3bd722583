"""What was written is there again; what is no study, or another one, is refused and kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slicc.coverage.mutants import Fate
from tester.errors import ConfigError
from tester.mutation.journal import FILE, Head, Journal
from tester.mutation.outcome import MutantOutcome

HEAD: Head = {"protocol": "MI", "seed": 1}
KILLED = MutantOutcome("a:b", Fate.KILLED, 1, 20, 1, 0, "hang", "L1Cache.I.Load")
OPEN = MutantOutcome("c:d", Fate.OPEN, 3, 60, 2, 1)


def outcomes(directory: Path, head: Head = HEAD) -> dict[str, MutantOutcome]:
    with Journal(directory, head) as journal:
        return dict(journal.outcomes)


def test_outcomes_are_there_again_and_the_last_one_counts(tmp_path: Path) -> None:
    later = MutantOutcome("c:d", Fate.SURVIVED, 9, 200, 5, 1)
    with Journal(tmp_path, HEAD) as journal:
        for outcome in (KILLED, OPEN, later):
            journal.add(outcome)
    assert outcomes(tmp_path) == {"a:b": KILLED, "c:d": later}


def test_a_line_that_was_cut_off_is_lost_alone(tmp_path: Path) -> None:
    with Journal(tmp_path, HEAD) as journal:
        journal.add(KILLED)
        journal.add(OPEN)
    path = tmp_path / FILE
    whole = path.read_bytes()
    for cut in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:cut])
        found = outcomes(tmp_path)
        assert list(found) == ["a:b", "c:d"][: max(0, whole[:cut].count(b"\n") - 1)]
        with Journal(tmp_path, HEAD) as journal:
            journal.add(OPEN)
        assert outcomes(tmp_path)["c:d"] == OPEN


@pytest.mark.parametrize("head", [{"protocol": "MSI", "seed": 1}, {"protocol": "MI", "seed": 2}])
def test_another_study_is_refused_and_not_touched(tmp_path: Path, head: Head) -> None:
    with Journal(tmp_path, HEAD) as journal:
        journal.add(KILLED)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ConfigError, match=r"mutants\.jsonl:1: it is a study with"):
        outcomes(tmp_path, head)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[]",
        "x",
        '{"mutant":"a","fate":"dead"}',
        '{"mutant":"a","fate":"open","legs":-1}',
        '{"mutant":"a","fate":"open","legs":true}',
        '{"mutant":3,"fate":"open"}',
        '{"mutant":"a","fate":"open","more":1}',
        "[" * 5000,
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    outcomes(tmp_path)
    path = tmp_path / FILE
    text = path.read_text() + line + "\n"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mutants\.jsonl:2: no line"):
        outcomes(tmp_path)
    assert path.read_text() == text


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"schema": "other/1"}) + "\n")
    with pytest.raises(ConfigError, match=r"mutants\.jsonl:1: no line"):
        outcomes(tmp_path)


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path, HEAD), pytest.raises(ConfigError, match="another gpu-tester mutate"):
        outcomes(tmp_path)
