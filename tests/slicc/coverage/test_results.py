"""Files of any kind as what is known of one protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slicc.coverage.cells import Status
from slicc.coverage.file import CoverageError, write_cells
from slicc.coverage.mutants import SCHEMA, Fate, score_of
from slicc.coverage.results import read_results
from tests.slicc.coverage.test_file import LOAD, cells

DIGEST, WHERE = "0123456789abcdef", Path("P.slicc")


def mutant(**changes: Any) -> dict[str, Any]:
    return {
        "machine": "Cache",
        "where": "I,M.Load",
        "file": "/elsewhere/P.sm",
        "line": 3,
        "description": "I,M.Load: send is missing",
        "fate": "killed",
        **changes,
    }


def study(*mutants: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "protocol": "P",
        "digest": DIGEST,
        "version": "1",
        "seed": 1,
        "episodes": 20,
        "of": 7,
        "mutants": list(mutants),
        **changes,
    }


def test_a_file_says_what_it_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_cells(cells(), tmp_path / name)
    (tmp_path / "c").write_text(json.dumps(study(mutant(), mutant(where="send", fate="survived"))))
    found = read_results([tmp_path / name for name in "cab"], DIGEST, WHERE)
    assert found.cells is not None and found.study is not None
    assert found.cells.machines["Cache"].counts[LOAD] == 4
    assert found.cells.status("Cache", LOAD) is Status.HIT
    row, body = found.study.mutants
    assert row.cells == [("I", "Load"), ("M", "Load")] and body.cells == []


def test_equivalent_mutants_do_not_count() -> None:
    assert score_of({Fate.KILLED: 3, Fate.SURVIVED: 1, Fate.EQUIVALENT: 9, Fate.OPEN: 2}) == 75
    assert score_of({Fate.EQUIVALENT: 9}) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (study(digest="f" * 16), r"is of another text of P \(f{16}\) than P.slicc \(0123"),
        (study(mutant(line=0)), r"is malformed: .*mutants\[0\].line"),
        (study(mutant(fate="lost")), "is malformed: .*fate"),
        ({"schema": "other"}, "is neither a coverage file .* nor a mutation study"),
        ([1], "is neither a coverage file"),
        ({"schema": "gpu-tester.coverage/1"}, "was written by a version that did not note"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: object, said: str) -> None:
    (tmp_path / "a").write_text(json.dumps(content))
    with pytest.raises(CoverageError, match=f"a: {said}"):
        read_results([tmp_path / "a"], DIGEST, WHERE)


def test_two_studies_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(json.dumps(study()))
    with pytest.raises(CoverageError, match="a second mutation study"):
        read_results([tmp_path / "a"] * 2, DIGEST, WHERE)
