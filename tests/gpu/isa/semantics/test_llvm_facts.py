"""Results that LLVM's optimiser folds the AMDGPU intrinsics to (opt 19, instcombine)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics import SEMANTICS
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.values import KINDS, run, same

INFINITY, NAN = math.inf, math.nan

FACTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("v_perm_b32", (0x01028384, 0x85060708, 0x07060504), 0x01028384),
    ("v_perm_b32", (0x01028384, 0x85060708, 0x0C0D0E0F), 0x00FFFFFF),
    ("v_perm_b32", (0x01028384, 0x85060708, 0x08090A0B), 0x00FFFF00),
    ("v_bfe_u32", (0x80000001, 31, 1), 1),
    ("v_bfe_u32", (0x12345678, 16, 32), 0),
    ("v_bfe_u32", (0x12345678, 33, 5), 0x1C),
    ("v_bfe_i32", (-0x7FFFFFFF, 24, 16), -128),
    ("v_bfe_i32", (0x12345678, 0, 0), 0),
    ("v_bfe_i32", (-1, 4, 8), -1),
    ("v_fract_f32", (-0.5,), 0.5),
    ("v_fract_f32", (INFINITY,), NAN),
    ("v_fract_f32", (-float(np.float32(1e-8)),), 1 - 2.0**-24),
    ("v_frexp_mant_f32", (-2.5,), -0.625),
    ("v_frexp_mant_f32", (INFINITY,), INFINITY),
    ("v_frexp_exp_i32_f32", (-2.5,), 2),
    ("v_frexp_exp_i32_f32", (NAN,), 0),
    ("v_frexp_exp_i32_f32", (2.0**-149,), -148),
    ("v_mul_legacy_f32", (-0.0, INFINITY), 0.0),
    ("v_mul_legacy_f32", (NAN, 0.0), 0.0),
    ("v_cvt_pkrtz_f16_f32", (float(np.float32(3.14159274)), 2.0**-149), 0x4248),
    ("v_cvt_pkrtz_f16_f32", (3.0e38, -INFINITY), 0xFC007BFF),
    ("v_med3_f32", (-0.5, 3.5, 1.0), 1.0),
    ("v_med3_f32", (NAN, 3.5, 1.0), 1.0),
    ("v_sin_f32", (0.25,), 1.0),
    ("v_sin_f32", (-2.5,), 0.0),
    ("v_cos_f32", (1.0,), 1.0),
]


@pytest.mark.parametrize(("name", "operands", "wanted"), FACTS)
def test_fact(name: str, operands: tuple[Any, ...], wanted: Any) -> None:
    entry = SEMANTICS[name]
    arrays = [np.array([value], KINDS[kind]) for kind, value in zip(entry.operands, operands)]
    got = run(name, *arrays, mode=FloatMode(0x3F0))
    assert same(np.abs(got), np.abs(np.array([wanted], KINDS[entry.result]))).all()
    if wanted:
        assert same(got, np.array([wanted], KINDS[entry.result])).all()
