"""Coverage as hints behind transitions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from protocols import shipped
from slicc.coverage.cells import Cells, MachineCells
from slicc.coverage.file import write_cells
from slicc.editor.coverage_hints import CoverageFile, hints
from slicc.editor.positions import real
from slicc.editor.project import Project
from slicc.editor.snapshot import Snapshot

CACHE = real(str(shipped()["MSI"].parent / "MSI-cache.sm"))


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    project = Project()
    project.compile({CACHE: Path(CACHE).read_text()})
    return project.of(CACHE)[0]


def written(path: Path, snapshot: Snapshot, count: int, protocol: str = "MSI") -> CoverageFile:
    """A file in which every cell of the cache was hit ``count`` times, but loads in S never."""
    machine = snapshot.machine("L1Cache")
    assert machine is not None
    counts = {(cell.state, cell.event): count for cell in machine.cells}
    counts["S", "Load"] = 0
    states, events = (
        tuple(member.name for member in enum.members) for enum in (machine.states, machine.events)
    )
    known = {"L1Cache": MachineCells(states, events, counts)}
    write_cells(Cells(protocol, "0" * 16, known), path)
    return CoverageFile(path)


def shown(snapshot: Snapshot, file: CoverageFile) -> dict[str, str]:
    return {hint.span.text: hint.text for hint in hints(snapshot, CACHE, file)}


def test_counts_stand_behind_their_transitions(tmp_path: Path, snapshot: Snapshot) -> None:
    found = shown(snapshot, written(tmp_path / "c.json", snapshot, 1200))
    assert found["M, Store"] == "hit 1,200 times"
    assert found["{S, M}, Load"] == "1 of 2 cells not hit"
    assert found["IS_D, {DataDirNoAcks, DataOwner}"] == "hit 2,400 times"


def test_a_file_is_read_again_when_it_is_written_again(tmp_path: Path, snapshot: Snapshot) -> None:
    file = written(tmp_path / "c.json", snapshot, 1)
    assert shown(snapshot, file)["M, Store"] == "hit once"
    written(file.path, snapshot, 2)
    os.utime(file.path, (1, 1))
    assert shown(snapshot, file)["M, Store"] == "hit 2 times"


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b'{"schema": 1}'])
def test_a_file_that_cannot_be_read_gives_no_hints_and_one_warning(
    tmp_path: Path, snapshot: Snapshot, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.json"
    if content is not None:
        path.write_bytes(content)
    file = CoverageFile(path)
    assert shown(snapshot, file) == shown(snapshot, file) == {}
    assert len(caplog.records) == 1 and str(path) in caplog.text


def test_a_file_of_another_protocol_gives_no_hints(tmp_path: Path, snapshot: Snapshot) -> None:
    assert shown(snapshot, written(tmp_path / "c.json", snapshot, 1, "MI")) == {}
