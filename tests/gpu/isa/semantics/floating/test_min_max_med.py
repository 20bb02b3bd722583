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
THREE = {"f32": "f32", "mode_f32": "f32", "f16": "f16"}
"""Meanings of three operands by the end of their names, and their types."""
KEEPING = FloatMode(0xF0)
COVERED = {
    *(f"v_{stem}_{kind}" for stem in ("min", "max") for kind in FORMATS),
    *(f"v_{stem}_mode_{kind}" for stem in ("min", "max") for kind in FORMATS),
    *(f"v_{stem}_{kind}" for stem in ("min3", "max3", "med3") for kind in THREE),
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


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("stem", ["min", "max"])
def test_where_the_mode_says_so_denormals_are_flushed(kind: str, stem: str) -> None:
    a, b = operands((kind, kind))
    kept = run(f"v_{stem}_mode_{kind}", a, b, mode=KEEPING)
    assert same(kept, run(f"v_{stem}_{kind}", a, b, mode=KEEPING)).all()
    flushed_first = run(f"v_{stem}_{kind}", _flushed(a), _flushed(b), mode=NOT_IEEE)
    got = run(f"v_{stem}_mode_{kind}", a, b, mode=NOT_IEEE)
    assert same(got, flushed_first).all()
    assert not same(got, kept).all()


def _flushed(values: Any) -> Any:
    small = np.absolute(values) < np.finfo(values.dtype).tiny
    return np.where(small, np.copysign(values.dtype.type(0), values), values)


@pytest.mark.parametrize("ending", THREE)
def test_of_three(ending: str) -> None:
    kind = THREE[ending]
    a, b, c = operands((kind, kind, kind), extra=300)
    if ending != "f32":
        a, b, c = (_flushed(each) for each in (a, b, c))
    lanes = list(zip(a.tolist(), b.tolist(), c.tolist()))
    numbers = [[value for value in lane if not math.isnan(value)] for lane in lanes]
    least = np.array([min(lane, key=_key, default=math.nan) for lane in numbers], a.dtype)
    greatest = np.array([max(lane, key=_key, default=math.nan) for lane in numbers], a.dtype)
    middle = np.array(
        [
            sorted(lane, key=_key)[1] if len(lane) == 3 else least[i]
            for i, lane in enumerate(numbers)
        ],
        a.dtype,
    )
    for name, wanted in (("min3", least), ("max3", greatest), ("med3", middle)):
        assert same(run(f"v_{name}_{ending}", a, b, c, mode=NOT_IEEE), wanted).all(), name
        plain = ~(_signalling(a) | _signalling(b) | _signalling(c))
        assert same(run(f"v_{name}_{ending}", a, b, c, mode=IEEE), wanted)[plain].all(), name
