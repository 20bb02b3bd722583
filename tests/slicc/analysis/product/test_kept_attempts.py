"""Attempts kept between runs: the same findings, and an edit makes little be worked out."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from slicc.analysis import analyse
from slicc.analysis.product import kept_attempts
from slicc.analysis.product.exploration import Draws
from slicc.analysis.product.kept_attempts import KeptAttempts
from slicc.analysis.product.local import Machines
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile

STEPS = 150


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of MSI, and a place for what is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for path in shipped()["MSI"].parent.glob("MSI[-.]*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path / "MSI.slicc"


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Takes the key of each attempt that is worked out."""
    made: list[object] = []
    work_out = Machines._work_out

    def noted(self: Machines, *key: object) -> object:
        made.append(key)
        return work_out(self, *key)  # type: ignore[arg-type]

    monkeypatch.setattr(Machines, "_work_out", noted)
    return made


def found(compiled: CompiledProtocol, kept: KeptAttempts | None) -> list[object]:
    return [
        (one.slug, one.headline, str(one.primary.span), one.notes)
        for one in analyse(compiled.protocol, steps=STEPS, kept=kept)
    ]


def checked(driver: Path) -> list[object]:
    """What is found with what is kept."""
    compiled = compile(driver)
    return found(compiled, KeptAttempts(driver, compiled.sources))


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))


def test_findings_with_kept_attempts_are_those_without(driver: Path) -> None:
    """After each of a few edits, drawn from the lines with a statement or an action of a row."""
    found_any = False
    draws = Draws(5)
    for _ in range(3):
        edited = driver.with_name(draws.one_of(("MSI-cache.sm", "MSI-dir.sm")))
        lines = edited.read_text().splitlines()
        first = next(number for number, line in enumerate(lines) if "action(" in line)
        own = [n for n in range(first, len(lines)) if lines[n].strip().endswith(";")]
        before = edited.read_text()
        lines[draws.one_of(own)] = ""
        edited.write_text("\n".join(lines))
        try:
            compiled = compile(driver)
        except ValueError:  # a declaration that is used
            edited.write_text(before)
            continue
        without = found(compiled, None)
        assert checked(driver) == without
        found_any |= bool(without)
    assert found_any


def test_what_is_kept_is_not_worked_out_again(driver: Path, worked_out: list[object]) -> None:
    checked(driver)
    first = len(worked_out)
    checked(driver)
    assert len(worked_out) == first > 100


@pytest.mark.parametrize(
    ("file", "old", "new", "most"),
    [
        ("MSI-dir.sm", "\n  action(", "\n  // a comment {\n  action(", 0.0),
        (
            "MSI-cache.sm",
            "AcksOutstanding - 1;",
            "AcksOutstanding - 2 + 1;",
            0.4,
        ),
        ("MSI-dir.sm", "  Tick clockEdge();", "  Tick clockEdge(); Tick now();", 0.8),
        ("MSI-msg.sm", "enumeration(", "enumeration(More) { A; }\nenumeration(", 1.0),
    ],
    ids=["comment", "action", "machine", "messages"],
)
def test_an_edit_makes_only_what_depends_on_it_be_worked_out(
    driver: Path, worked_out: list[object], file: str, old: str, new: str, most: float
) -> None:
    checked(driver)
    first = len(worked_out)
    replaced(driver.with_name(file), old, new)
    checked(driver)
    again = len(worked_out) - first
    assert again <= most * first
    assert (again > 0) == (most > 0)


def test_damaged_and_foreign_files_are_as_none(
    driver: Path, monkeypatch: pytest.MonkeyPatch, worked_out: list[object]
) -> None:
    checked(driver)
    first = len(worked_out)
    (kept,) = (driver.parent / "cache" / "slicc").glob("attempts-*")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert checked(driver) == []
    assert len(worked_out) == 2 * first
    monkeypatch.setattr(kept_attempts, "_version", lambda: b"another compiler")
    checked(driver)
    assert len(worked_out) == 3 * first
