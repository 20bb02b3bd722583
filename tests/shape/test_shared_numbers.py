"""Headers that are generated from Python say what Python says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.compute_unit.native import shared_numbers as of_gpu
from runtime.native import shared_numbers as of_runtime
from tester.exploration import shared_numbers as of_exploration
from tester.native import shared_numbers as of_tester


@pytest.mark.parametrize(
    "headers",
    [each.headers() for each in (of_runtime, of_tester, of_exploration, of_gpu)],
)
def test_generated_headers_are_up_to_date(headers: dict[Path, str]) -> None:
    changed = [path.name for path, text in headers.items() if path.read_text() != text]
    assert not changed, "run the command in their first lines"
