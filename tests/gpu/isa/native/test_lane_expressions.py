"""What is traced and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.isa.native.lane_expressions import Untraceable, lines_of
from gpu.isa.native.lane_functions import lane_functions
from gpu.isa.semantics import SEMANTICS
from gpu.isa.semantics.entry import Array, define


def test_an_operation_of_numpy_is_a_line() -> None:
    assert lines_of(SEMANTICS["v_mul_hi_u32"]) == (
        "const u64 t0 = multiply(static_cast<u64>(a), static_cast<u64>(b));",
        "const u32 t1 = static_cast<u32>(static_cast<u64>(t0) >> 32);",
        "result = bits_as<u32>(t1);",
    )


def test_a_shorter_way_without_carries_is_not_taken() -> None:
    assert "const u32 t1 = add(t0, static_cast<u32>(in));" in lines_of(SEMANTICS["v_addc_co_u32"])


def _table(a: Array) -> Array:
    return np.arange(256)[a]


def _values(a: Array) -> Array:
    return a if a.any() else np.negative(a)


def _truth(a: Array) -> Array:
    return np.negative(a) if np.greater(a, 3) else a


def _some(a: Array) -> Array:
    return a[::2]


def _to_integers(a: Array) -> Array:
    return a.view(np.float32).astype(np.int32)


@pytest.mark.parametrize("function", [_table, _values, _truth, _some, _to_integers])
def test_what_depends_on_other_lanes_or_on_values_is_not_traced(function: object) -> None:
    with pytest.raises(Untraceable):
        lines_of(define(function, "u32 -> u32"))  # type: ignore[arg-type]


def test_what_depends_on_the_mode_is_not_traced() -> None:
    assert "v_fma_f32" not in lane_functions().number_of


def test_what_compilers_use_most_is_traced() -> None:
    common = {
        "v_add_co_u32", "v_addc_co_u32", "v_sub_co_u32", "v_mov_b32", "v_and_b32", "v_or_b32",
        "v_xor_b32", "v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32", "v_lshlrev_b64",
        "v_bfe_u32", "v_bfe_i32", "v_cndmask_b32", "v_mac_f32", "v_add_f32", "v_sub_f32",
        "v_mul_f32", "v_mad_f32", "v_mul_lo_u32", "v_mul_hi_u32", "v_mad_u64_u32", "v_add_f64",
        "v_cmp_gt_u32", "v_cmp_lt_f32",
    }  # fmt: skip
    assert common <= set(lane_functions().number_of)
