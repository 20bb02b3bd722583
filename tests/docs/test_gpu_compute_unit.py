"""The page on compute units says what the code says."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from gpu.compute_unit.hang_detector import PATIENCE, RETURNS, STILL_LIMIT, TIMED_STILL_LIMIT
from gpu.compute_unit.pipeline.arbitration import POLICIES
from gpu.compute_unit.pipeline.timing_parameters import Timing, TlbParameters
from gpu.compute_unit.sanitizers.sanitizer import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "gpu-compute-unit.md").read_text()


def test_every_timing_parameter_with_its_default() -> None:
    written = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert written == [(place.name, str(place.default)) for place in fields(Timing)]


def test_every_parameter_of_tlbs_with_its_default() -> None:
    written = re.findall(r"^\| `gpu\.tlb\.(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert written == [(place.name, str(place.default)) for place in fields(TlbParameters)]


def test_checks_policies_and_limits() -> None:
    assert sorted(re.findall(r"^\| `(\w+)` \| [a-z]", PAGE, re.MULTILINE)) == sorted(NAMES)
    for policy in POLICIES:
        assert f"`{policy}`" in PAGE
    assert f"{PATIENCE:,} wave instructions" in PAGE
    assert f"{STILL_LIMIT // 1_000_000} million wave instructions" in PAGE
    assert f"{TIMED_STILL_LIMIT // 1_000_000} million on timed units" in PAGE
    assert RETURNS == 8 and "eight times" in PAGE


def test_files_that_are_named_exist() -> None:
    folder = Path(__file__).parents[2] / "gpu" / "compute_unit"
    for name in re.findall(r"`([\w/]+\.(?:py|cpp))`", PAGE):
        assert (folder / name).is_file(), name
