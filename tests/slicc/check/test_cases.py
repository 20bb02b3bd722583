"""Cases of the checks: the findings of each small protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slicc.case_runner import cases_beside, check_protocol


@pytest.mark.parametrize("path", cases_beside(__file__), ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    check_protocol(path)
