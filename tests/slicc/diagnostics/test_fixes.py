"""Corrections, alone and as ``slicc check --fix`` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from slicc.compiler import check_source
from slicc.diagnostics.fixes import Fix, allowance, certain_fixes, fixed_text
from slicc.source import SourceFile, Span
from tests.slicc.cli.test_cli import slicc

BROKEN = [
    ("    gs_sendGetS;", "    gs_sendGetX;"),
    ("profileDemandHit();\n", "profileDemandHit()\n"),
    ("CoherenceRequestType:PutS;", "CoherenceRequestType:PutSs;"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in shipped()["MSI"].parent.glob("MSI[.-]*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def break_(path: Path, old: str, new: str) -> str:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return text


@pytest.mark.parametrize(("old", "new"), BROKEN)
def test_a_correction_gives_back_what_was_meant(folder: Path, old: str, new: str) -> None:
    cache = folder / "MSI-cache.sm"
    whole = break_(cache, old, new)
    done = slicc("check", "MSI.slicc", "--fix", "--yes")
    assert done.returncode == 1, "there were errors"
    assert "--- MSI-cache.sm\n+++ MSI-cache.sm\n" in done.stdout
    assert cache.read_text() == whole
    assert slicc("check", "MSI.slicc").returncode == 0


def test_nothing_is_written_unasked(folder: Path) -> None:
    break_(folder / "MSI-cache.sm", *BROKEN[0])
    before = {file: file.read_bytes() for file in folder.iterdir()}
    done = slicc("check", "MSI.slicc", "--fix")
    assert "+    gs_sendGetS;" in done.stdout
    assert "add --yes" in done.stderr
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_all_uses_of_a_misspelt_name_are_corrected(folder: Path) -> None:
    messages = folder / "MSI-msg.sm"
    whole = {file: file.read_text() for file in folder.glob("*.sm")}
    dir_ = folder / "MSI-dir.sm"
    for file in (folder / "MSI-cache.sm", dir_):
        file.write_text(
            whole[file].replace("CoherenceResponseType:Data;", "CoherenceResponseType:Dato;")
        )
    slicc("check", "MSI.slicc", "--fix", "--yes")
    assert {file: file.read_text() for file in folder.glob("*.sm")} == whole
    assert messages.read_text() == whole[messages]


def test_without_certain_corrections_nothing_happens(folder: Path) -> None:
    done = slicc("check", "MSI.slicc", "--fix", "--yes")
    assert done.returncode == 0 and "nothing has a certain correction" in done.stderr


def test_yes_alone_is_a_misuse(folder: Path) -> None:
    assert slicc("check", "MSI.slicc", "--yes").returncode == 2


def test_a_warning_is_allowed_and_not_corrected() -> None:
    text = """
machine(MachineType:L1Cache, "x") : {
  state_declaration(State, desc="") { I, AccessPermission:Invalid; }
}
"""
    for found in check_source(text):
        assert allowance(found) is None or certain_fixes([found]) == []


def test_of_two_corrections_of_one_place_one_counts() -> None:
    source = SourceFile("f", "abcdef")

    def fix(start: int, end: int, text: str) -> Fix:
        return Fix("", (Span(source, start, end),), text, True)

    chosen = [fix(1, 3, "X"), fix(2, 4, "Y"), fix(4, 4, ";"), fix(1, 3, "X")]
    assert fixed_text(source.text, "f", chosen) == "aXd;ef"
    assert fixed_text(source.text, "g", chosen) == "abcdef", "another file"
