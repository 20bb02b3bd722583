"""Values of timing parameters that are refused, each with its name."""

from __future__ import annotations

from typing import Any

import pytest

from gpu.compute_unit.pipeline.timing_parameters import LARGEST, Timing, TimingError, TlbParameters


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("lds_cycles", 0, "at least 1"),
        ("lds_cycles", 1.5, "at least 1"),
        ("lds_cycles", True, "at least 1"),
        ("lds_cycles", LARGEST + 1, "more than"),
        ("lds_cicles", 4, "no such parameter"),
        ("fetch_bytes", 24, "none of 8, 16, 32, 64"),
        ("fetch_bytes", 128, "none of 8, 16, 32, 64"),
        ("buffer_bytes", 32, "less than two fetches of 32 bytes"),
    ],
)
def test_refused(name: str, value: Any, why: str) -> None:
    with pytest.raises(TimingError, match=why) as refused:
        Timing.from_table({name: value})
    assert (refused.value.name, refused.value.value) == (name, value)


def test_what_is_not_set_stays() -> None:
    assert Timing.from_table({"lds_cycles": 7}) == Timing(lds_cycles=7)
    assert TlbParameters.from_table({"entries": 2}) == TlbParameters(entries=2)
    with pytest.raises(TimingError, match="no such parameter"):
        TlbParameters.from_table({"lds_cycles": 7})
