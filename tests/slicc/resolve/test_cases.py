"""Cases of resolve and of the checks: the findings of each small protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import slicc
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.registry import CODES
from slicc.ir.verifier import verify
from tests.slicc.resolve.case_runner import check_case, expectations

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.sm"))


def _compile(path: Path, sink: DiagnosticSink) -> None:
    for compiled in compile_files([path], [path.parent], sink):
        assert verify(compiled.protocol) == []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    check_case(path, _compile)


def _reported_slugs() -> set[str]:
    """Every registered slug that stands as a text in the passes."""
    root = Path(slicc.__file__).parent
    found: set[str] = set()
    for folder in ("resolve", "check"):
        for module in (root / folder).glob("*.py"):
            found |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', module.read_text()))
    return found & CODES.keys()


def test_every_finding_has_a_case() -> None:
    expected = {entry.slug for path in CASES for entry in expectations(path)}
    assert _reported_slugs() - expected == set()
