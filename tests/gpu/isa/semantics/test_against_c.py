"""The same operations written in C, compiled for this machine."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics import SEMANTICS
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.values import operands, run, same

C_TYPES = {
    "b16": "uint16_t", "u16": "uint16_t", "i16": "int16_t",
    "b32": "uint32_t", "u32": "uint32_t", "i32": "int32_t", "f32": "float",
    "b64": "uint64_t", "u64": "uint64_t", "i64": "int64_t", "f64": "double", "mask": "uint8_t",
}  # fmt: skip

EXPRESSIONS = {
    "v_add_f32": "a + b",
    "v_sub_f32": "a - b",
    "v_mul_f32": "a * b",
    "v_add_f64": "a + b",
    "v_mul_f64": "a * b",
    "v_fma_f32": "fmaf(a, b, c)",
    "v_fma_f64": "fma(a, b, c)",
    "v_sqrt_f64": "sqrt(a)",
    "v_rcp_f64": "1.0 / a",
    "v_floor_f32": "floorf(a)",
    "v_ceil_f32": "ceilf(a)",
    "v_trunc_f32": "truncf(a)",
    "v_rndne_f32": "rintf(a)",
    "v_floor_f64": "floor(a)",
    "v_ceil_f64": "ceil(a)",
    "v_trunc_f64": "trunc(a)",
    "v_rndne_f64": "rint(a)",
    "v_ldexp_f32": "ldexpf(a, b)",
    "v_ldexp_f64": "ldexp(a, b)",
    "v_cvt_f32_i32": "(float)a",
    "v_cvt_f32_u32": "(float)a",
    "v_cvt_f64_i32": "(double)a",
    "v_cvt_f64_u32": "(double)a",
    "v_cvt_f32_f64": "(float)a",
    "v_cvt_f64_f32": "(double)a",
    "v_cvt_i32_f32": "a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int)a",
    "v_cvt_u32_f32": "!(a > 0) ? 0 : a >= 0x1p32f ? UINT32_MAX : (uint32_t)a",
    "v_cvt_i32_f64": "a != a ? 0 : a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : (int)a",
    "v_cvt_u32_f64": "!(a > 0) ? 0 : a >= 0x1p32 ? UINT32_MAX : (uint32_t)a",
    "v_mul_lo_u32": "a * b",
    "v_mul_hi_u32": "(uint64_t)a * b >> 32",
    "v_mul_hi_i32": "(int64_t)a * b >> 32",
    "v_mul_u32_u24": "(a & 0xffffff) * (b & 0xffffff)",
    "v_mad_u32_u24": "(a & 0xffffff) * (b & 0xffffff) + c",
    "v_lshlrev_b32": "b << (a & 31)",
    "v_lshrrev_b32": "b >> (a & 31)",
    "v_ashrrev_i32": "b >> (a & 31)",
    "v_lshlrev_b64": "b << (a & 63)",
    "v_lshrrev_b64": "b >> (a & 63)",
    "v_ashrrev_i64": "b >> (a & 63)",
    "v_bfe_u32": "a >> (b & 31) & ((1u << (c & 31)) - 1)",
    "v_bfi_b32": "(a & b) | (~a & c)",
    "v_alignbit_b32": "((uint64_t)a << 32 | b) >> (c & 31)",
    "v_bcnt_u32_b32": "__builtin_popcount(a) + b",
    "v_ffbh_u32": "a ? __builtin_clz(a) : -1",
    "v_ffbl_b32": "a ? __builtin_ctz(a) : -1",
    "v_perm_b32": "perm((uint64_t)a << 32 | b, c)",
    "v_sad_u32": "(a > b ? a - b : b - a) + c",
    "v_mul_lo_u16": "(uint32_t)a * b",
    "v_cmp_lt_f32": "a < b",
    "v_cmp_nge_f64": "!(a >= b)",
    "v_cmp_lg_f32": "islessgreater(a, b)",
    "v_cmp_u_f64": "isunordered(a, b)",
    "v_cmp_gt_i64": "a > b",
    "v_cmp_le_u64": "a <= b",
}  # fmt: skip

_HELP = """
#include <math.h>
#include <stdint.h>
static uint32_t perm(uint64_t bytes, uint32_t selector) {
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    unsigned code = selector >> 8 * i & 255;
    uint32_t byte = code < 8 ? bytes >> 8 * code & 255
        : code < 12 ? (bytes >> (16 * (code - 8) + 15) & 1 ? 255 : 0) : code == 12 ? 0 : 255;
    result |= byte << 8 * i;
  }
  return result;
}
"""


def _source() -> str:
    functions = []
    for name, expression in EXPRESSIONS.items():
        entry = SEMANTICS[name]
        letters = "abc"[: len(entry.operands)]
        parameters = ", ".join(
            f"const {C_TYPES[kind]} *{letter}_" for letter, kind in zip(letters, entry.operands)
        )
        loads = re.sub(r"\b([abc])\b", r"\1_[i]", expression)
        functions.append(
            f"void {name}(int n, {C_TYPES[entry.result]} *r, {parameters}) "
            f"{{ for (int i = 0; i < n; i++) r[i] = {loads}; }}"
        )
    return _HELP + "\n".join(functions)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = next((path for path in map(shutil.which, ("gcc", "cc", "clang")) if path), None)
    if compiler is None:
        pytest.skip("no C compiler")
    folder: Path = tmp_path_factory.mktemp("c")
    (folder / "all.c").write_text(_source())
    subprocess.run(
        [compiler, "-O1", "-std=c11", "-ffp-contract=off", "-fno-builtin-fma", "-shared", "-fPIC",
         "-o", str(folder / "all.so"), str(folder / "all.c"), "-lm"],
        check=True, timeout=120,
    )  # fmt: skip
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_same_as_compiled_c(name: str, library: ctypes.CDLL) -> None:
    entry = SEMANTICS[name]
    arrays = operands(entry.operands, seed=11, extra=2000)
    if name.startswith("v_ldexp"):
        arrays[1] = np.clip(arrays[1], -5000, 5000)
    got = run(name, *arrays, mode=FloatMode(0x0F0))
    result: Any = np.empty(len(arrays[0]), np.uint8 if entry.result == "mask" else got.dtype)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (result, *arrays)]
    getattr(library, name)(len(result), *pointers)
    wanted = result.astype(np.bool_) if entry.result == "mask" else result
    assert same(got, wanted).all()
