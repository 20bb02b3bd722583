"""Coverage files: what is written is read back, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slicc.coverage.cells import Cells, MachineCells, System
from slicc.coverage.file import MAX_BYTES, CoverageError, merged, read_cells, to_json, write_cells

LOAD, STORE = ("I", "Load"), ("I", "Store")


def cells(digest: str = "0123456789abcdef", count: int = 2) -> Cells:
    machine = MachineCells(
        ("I", "M"),
        ("Load", "Store"),
        {LOAD: count, STORE: 0},
        {STORE: ("cpu0 stores",)},
        frozenset({STORE}),
    )
    return Cells("P", digest, {"Cache": machine}, (System("one cache", ("Cache",)),))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_cells(cells(), tmp_path / "a.json")
    assert read_cells(tmp_path / "a.json") == cells()


def test_files_of_one_text_are_merged(tmp_path: Path) -> None:
    for name, count in (("a", 2), ("b", 5)):
        write_cells(cells(count=count), tmp_path / name)
    assert merged([tmp_path / "a", tmp_path / "b"]).machines["Cache"].counts[LOAD] == 7


def test_files_of_other_texts_are_not_merged(tmp_path: Path) -> None:
    write_cells(cells(), tmp_path / "a")
    write_cells(cells("f" * 16), tmp_path / "b")
    with pytest.raises(CoverageError, match=r"b: is of another text of P \(f{16}\) than .*a \(P"):
        merged([tmp_path / "a", tmp_path / "b"])


def test_files_with_other_cells_are_not_merged(tmp_path: Path) -> None:
    write_cells(cells(), tmp_path / "a")
    other = cells()
    other.machines["Cache"].counts["M", "Load"] = 1
    write_cells(other, tmp_path / "b")
    with pytest.raises(CoverageError, match="b: is malformed: Cache has other cells"):
        merged([tmp_path / "a", tmp_path / "b"])


def changed(**changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(to_json(cells()))), **changes}


def with_machine(**changes: Any) -> dict[str, Any]:
    whole = changed()
    whole["machines"]["Cache"] |= changes
    return whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no coverage file"),
        ("[" * 100_000, "is no coverage file"),
        ("[]", "its schema is not gpu-tester.coverage/2"),
        (changed(schema="gpu-tester.coverage/1"), "run it again"),
        (changed(digest="../etc"), "is malformed"),
        (changed(machines=[]), "is malformed"),
        (changed(more=1), "is malformed"),
        (with_machine(counts={"I": {"Load": -1}}), "is malformed"),
        (with_machine(counts={"I": {"Load": 1.5}}), "is malformed"),
        (with_machine(counts={"Z": {"Load": 1}}), r"Cache has no state and event \(Z, Load\)"),
        (with_machine(ways={"M": {"Load": []}}), r"ways of Cache has \(M, Load\)"),
        (with_machine(unsent={"M": ["Load"]}), r"unsent of Cache has \(M, Load\)"),
        (with_machine(states=["a b"]), "is malformed"),
    ],
)
def test_wrong_files(content: str | dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(CoverageError, match=f"wrong.json: .*{message}"):
        read_cells(path)


def test_files_that_are_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match="cannot be read"):
        read_cells(tmp_path / "none")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(CoverageError, match="more than"):
        read_cells(tmp_path / "large")
