"""Every comparison of every type, and the class tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating.ieee import FORMATS, flushed
from tests.gpu.isa.semantics.values import operands, random, run, specials

INTEGERS: dict[str, Callable[[Any, Any], bool]] = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
}


def _unordered(a: float, b: float) -> bool:
    return math.isnan(a) or math.isnan(b)


FLOATS: dict[str, Callable[[Any, Any], bool]] = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: not _unordered(a, b),
    "u": _unordered,
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
    "tru": lambda a, b: True,
}
REFERENCES = {
    (condition, kind): reference
    for kinds, references in (
        (("i16", "u16", "i32", "u32", "i64", "u64"), INTEGERS),
        (tuple(FORMATS), FLOATS),
    )
    for kind in kinds
    for condition, reference in references.items()
}
COVERED = {
    f"v_{stem}_{rest}"
    for stem in ("cmp", "cmpx")
    for rest in [
        *(f"{condition}_{kind}" for condition, kind in REFERENCES),
        *(f"class_{kind}" for kind in FORMATS),
    ]
}


@pytest.mark.parametrize(("condition", "kind"), REFERENCES)
def test_comparison(condition: str, kind: str) -> None:
    reference = REFERENCES[condition, kind]
    a, b = operands((kind, kind))
    modes = range(4) if kind in FORMATS else range(1)
    for denormals in modes:
        mode = FloatMode(0x50 * denormals)
        pairs = list(zip(a.tolist(), b.tolist()))
        if kind in FORMATS and not denormals & 1:
            pairs = [(flushed(x, kind), flushed(y, kind)) for x, y in pairs]
        wanted = [reference(x, y) for x, y in pairs]
        for stem in ("cmp", "cmpx"):
            assert run(f"v_{stem}_{condition}_{kind}", a, b, mode=mode).tolist() == wanted


def _class(bits: int, exponent_bits: int, fraction_bits: int) -> int:
    fraction = bits & (1 << fraction_bits) - 1
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    negative = bits >> (fraction_bits + exponent_bits)
    if exponent == (1 << exponent_bits) - 1:
        if fraction:
            return fraction >> (fraction_bits - 1)
        return 2 if negative else 9
    if exponent:
        return 3 if negative else 8
    if fraction:
        return 4 if negative else 7
    return 5 if negative else 6


@pytest.mark.parametrize(
    ("kind", "fields"), [("f16", (5, 10)), ("f32", (8, 23)), ("f64", (11, 52))]
)
def test_class(kind: str, fields: tuple[int, int]) -> None:
    values = np.concatenate([specials(kind), random(kind, 100, np.random.default_rng(3))])
    unsigned = f"u{values.dtype.itemsize}"
    numbers = [_class(bits, *fields) for bits in values.view(unsigned).tolist()]
    assert set(numbers) == set(range(10))
    for test in range(10):
        wanted = [number == test for number in numbers]
        mask = np.array([1 << test], np.uint32)
        got = run(f"v_cmp_class_{kind}", values, mask, mode=FloatMode(0))
        assert got.tolist() == wanted
        assert run(f"v_cmpx_class_{kind}", values, ~mask).tolist() == [not x for x in wanted]
