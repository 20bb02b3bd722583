"""Cases of whole protocols: those here, and that no finding is without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import slicc
from slicc.diagnostics.registry import CODES
from tests.slicc.case_runner import cases_beside, check_protocol, expectations


@pytest.mark.parametrize("path", cases_beside(__file__), ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    check_protocol(path)


def _reported_slugs() -> set[str]:
    """Every registered slug that stands as a text in the passes."""
    root = Path(slicc.__file__).parent
    found: set[str] = set()
    for folder in ("resolve", "check", "dialect"):
        for module in (root / folder).rglob("*.py"):
            found |= set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', module.read_text()))
    return found & CODES.keys()


def test_every_finding_has_a_case() -> None:
    cases = Path(__file__).parents[1].rglob("*.sm")
    expected = {entry.slug for path in cases for entry in expectations(path)}
    assert _reported_slugs() - expected == set()
