"""Smallest, largest, middle: zeros, NaNs, denormals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating.ieee import FORMATS
from tests.gpu.isa.semantics.values import operands, run, same

IEEE, NOT_IEEE = FloatMode(0x200), FloatMode(0x000)
COVERED = {
    *(f"v_{stem}_{kind}" for stem in ("min", "max") for kind in FORMATS),
    "v_min3_f32", "v_max3_f32", "v_med3_f32",
}  # fmt: skip


def _key(a: float) -> tuple[float, float]:
    return a, math.copysign(1.0, a)


def _signalling(values: Any) -> Any:
    quiet = {2: 9, 4: 22, 8: 51}[values.dtype.itemsize]
    bits = values.view(f"u{values.dtype.itemsize}")
    return np.isnan(values) & ((bits >> quiet & 1) == 0)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("stem", "choose"), [("min", min), ("max", max)])
def test_of_two(kind: str, stem: str, choose: Any) -> None:
    """Denormals come through in every mode; the number wins over the NaN."""
    a, b = operands((kind, kind))
    wanted = [
        y if math.isnan(x) else x if math.isnan(y) else choose(x, y, key=_key)
        for x, y in zip(a.tolist(), b.tolist())
    ]
    got = run(f"v_{stem}_{kind}", a, b, mode=NOT_IEEE)
    assert same(got, np.array(wanted, a.dtype)).all()
    signalling = _signalling(a) | _signalling(b)
    assert signalling.any()
    in_ieee_mode = run(f"v_{stem}_{kind}", a, b, mode=IEEE)
    assert same(in_ieee_mode, got)[~signalling].all()
    assert np.isnan(in_ieee_mode[signalling]).all()
    assert not _signalling(in_ieee_mode[signalling]).any()


def test_of_three() -> None:
    a, b, c = operands(("f32", "f32", "f32"), extra=300)
    lanes = list(zip(a.tolist(), b.tolist(), c.tolist()))
    numbers = [[value for value in lane if not math.isnan(value)] for lane in lanes]
    least = np.array([min(lane, key=_key, default=math.nan) for lane in numbers], np.float32)
    greatest = np.array([max(lane, key=_key, default=math.nan) for lane in numbers], np.float32)
    middle = np.array(
        [
            sorted(lane, key=_key)[1] if len(lane) == 3 else least[i]
            for i, lane in enumerate(numbers)
        ],
        np.float32,
    )
    for name, wanted in (("min3", least), ("max3", greatest), ("med3", middle)):
        assert same(run(f"v_{name}_f32", a, b, c, mode=NOT_IEEE), wanted).all(), name
        plain = ~(_signalling(a) | _signalling(b) | _signalling(c))
        assert same(run(f"v_{name}_f32", a, b, c, mode=IEEE), wanted)[plain].all(), name
