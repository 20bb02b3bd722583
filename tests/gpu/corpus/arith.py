"""The 107 one-line kernels: every operation and conversion of integers and floats of all sizes.

Compiled without contraction, f32 denormals flushed (kept for gfx900), f16 and f64 denormals kept;
what OpenCL lets be inexact (division and square root of f32, the hardware's own approximations) has
a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.gpu.corpus.basic import rng
from tests.gpu.corpus.case import Array, Case, one

COUNT = 150
U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
I8, I16, I32, I64 = np.int8, np.int16, np.int32, np.int64
F16, F32, F64 = np.float16, np.float32, np.float64
Binary = Callable[[Array, Array], Any]

SPECIAL = {
    2: (0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x7BFF),
    4: (0x0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0xBF800000, 0x00800000,
        0x7F7FFFFF, 0x3F000000, 0xBEFFFFFF, 0x4B000001),
    8: (0x0, 1 << 63, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0x3FF << 52, 0xBFF << 52, 1,
        (1 << 52) - 1, 1 << 52, (0x7FF << 52) - 1, 0x3FE << 52),
}  # fmt: skip
"""Bit patterns: zeros, infinities, NaN, ones, the least and largest numbers, halves."""


def integers(dtype: Any, seed: int) -> Array:
    """All sizes, small and large, with the extremes in front."""
    limits, prng = np.iinfo(dtype), rng(seed)
    width = limits.bits
    bits = prng.integers(0, 1 << 63, COUNT, dtype=U64) << U64(1) | prng.integers(
        0, 2, COUNT, dtype=U64
    )
    shifts = prng.integers(0, width, COUNT).astype(U64)
    values = (bits >> (U64(64 - width) + shifts)).astype(np.dtype(f"u{width // 8}")).view(dtype)
    values = np.where(prng.integers(0, 2, COUNT).astype(bool), values, ~values)
    edges = [0, 1, limits.max, limits.min, limits.max - 1, 7]
    prng.shuffle(edges)
    values[: len(edges)] = edges
    return values


def floats(dtype: Any, seed: int, special: bool = True, low: float = -8, high: float = 8) -> Array:
    """Numbers of all sizes around 1, with the specials scattered among them."""
    prng = rng(seed)
    values = (prng.uniform(-1, 1, COUNT) * 2.0 ** prng.uniform(low, high, COUNT)).astype(dtype)
    if special:
        size = np.dtype(dtype).itemsize
        patterns = np.array(SPECIAL[size], f"u{size}").view(dtype)
        values[prng.integers(0, COUNT, 40)] = np.resize(patterns, 40)
    return values


def flushed(values: Array) -> Array:
    """f32 denormals as zeros of their sign."""
    if values.dtype != F32:
        return values
    return np.where(np.abs(values) < F32(2.0**-126), np.copysign(F32(0), values), values)


# ------------------------------------------------------------------ single operations


def _bits(values: Array) -> list[int]:
    return [int(each) for each in values]


def _popcount(values: Array) -> Array:
    return np.array([each.bit_count() for each in _bits(values)], U32)


def _leading(values: Array) -> Array:
    return np.array([32 - each.bit_length() for each in _bits(values)], U32)


def _trailing(values: Array) -> Array:
    return np.array([(each & -each).bit_length() - 1 for each in _bits(values)], U32)


def _reversed(values: Array) -> Array:
    return np.array([int(f"{each:032b}"[::-1], 2) for each in _bits(values)], U32)


def _quotient(x: Array, y: Array) -> Array:
    """Towards zero."""
    pairs = zip(_bits(x), _bits(y), strict=True)
    return np.array(
        [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs], x.dtype
    )


def _remainder(x: Array, y: Array) -> Array:
    return x - _quotient(x, y) * y


def _high(x: Array, y: Array) -> Array:
    return np.array(
        [a * b >> 32 for a, b in zip(_bits(x), _bits(y), strict=True)], np.object_
    ).astype(x.dtype)


def _fused(x: Array, y: Array) -> Array:
    """``x * y + x``, rounded once."""
    wide = x.astype(F64) if x.dtype != F64 else x
    out = []
    for a, b, rough in zip(wide.tolist(), y.astype(F64).tolist(), x * y + x, strict=True):
        if not (np.isfinite(a) and np.isfinite(b)):
            out.append(rough)
            continue
        exact = Fraction(a) * Fraction(b) + Fraction(a)
        out.append(_rounded(exact, x.dtype, rough))
    return np.array(out, x.dtype)


def _rounded(exact: Fraction, dtype: Any, rough: Any) -> Any:
    """To nearest even: through f64 rounded to odd, which has bits enough for one more rounding."""
    if exact == 0:
        return rough
    try:
        near = float(exact)
    except OverflowError:
        return dtype.type(np.inf if exact > 0 else -np.inf)
    if dtype == F64 or Fraction(near) == exact:
        return dtype.type(near)
    if np.float64(near).view(U64) & U64(1):
        return dtype.type(near)
    return dtype.type(np.nextafter(near, np.inf if exact > Fraction(near) else -np.inf))


def _away(x: Array) -> Array:
    """Rounded to the nearest integer, halves away from zero."""
    wide = x.astype(F64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(x.dtype)


def _choose(condition: Any, x: Any, y: Any) -> Array:
    return np.where(condition, x, y)


def _sh(x: Array, y: Array, mask: int) -> Array:
    return (y & y.dtype.type(mask)).astype(x.dtype)


def _median_with_one(x: Array, y: Array) -> Array:
    """With a NaN among the three, the instruction gives their least number."""
    median = np.maximum(np.minimum(x, y), np.minimum(np.maximum(x, y), F32(1)))
    return _choose(np.isnan(median), np.fmin(np.fmin(x, y), F32(1)), median)


INTEGER: list[tuple[str, Any, Binary]] = [
    ("iadd", I32, lambda x, y: x + y),
    ("imul", I32, lambda x, y: x * y),
    ("imulhi", I32, _high),
    ("umulhi", U32, _high),
    ("shl_", I32, lambda x, y: x << _sh(x, y, 31)),
    ("lshr_", U32, lambda x, y: x >> _sh(x, y, 31)),
    ("ashr_", I32, lambda x, y: x >> _sh(x, y, 31)),
    ("and_", I32, lambda x, y: x & y),
    ("or_", I32, lambda x, y: x | y),
    ("xor_", I32, lambda x, y: x ^ y),
    ("not_", I32, lambda x, y: ~(x ^ y)),
    ("andn", I32, lambda x, y: x & ~y),
    ("imin", I32, np.minimum),
    ("imax", I32, np.maximum),
    ("umin_", U32, np.minimum),
    ("umax_", U32, np.maximum),
    ("med3i", I32, lambda x, y: _choose(x < 0, 0, np.minimum(x, y))),
    ("iabs", I32, lambda x, y: _choose(x < 0, -x, x)),
    ("clz_", U32, lambda x, y: _leading(x | U32(1)) + _popcount(y)),
    ("ctz_", U32, lambda x, y: _trailing(x | U32(1)) ^ _reversed(y)),
    ("bswap_", U32, lambda x, y: x.byteswap() + y),
    ("rotl", U32, lambda x, y: x << U32(7) | x >> U32(25)),
    ("bfe", U32, lambda x, y: x >> U32(5) & U32(0x3FF)),
    ("bfes", I32, lambda x, y: (x << 9) >> 20),
    ("ladd", I64, lambda x, y: x + y),
    ("lsub", I64, lambda x, y: x - y),
    ("lmul", I64, lambda x, y: x * y),
    ("lshl", I64, lambda x, y: x << _sh(x, y, 63)),
    ("llshr", U64, lambda x, y: x >> _sh(x, y, 63)),
    ("lashr", I64, lambda x, y: x >> _sh(x, y, 63)),
    ("lmin", I64, np.minimum),
    ("land", I64, lambda x, y: x & y),
    ("sadd", I16, lambda x, y: x + y),
    ("smul", I16, lambda x, y: x * y),
    ("ssel", I16, np.minimum),
    ("uadd8", U8, lambda x, y: x + y),
    ("cmul", I8, lambda x, y: x * y),
    ("shls", I16, lambda x, y: (x.astype(I32) << _sh(x, y, 15).astype(I32)).astype(I16)),
]
DIVISIONS: list[tuple[str, Any, Binary]] = [
    ("idiv", I32, _quotient),
    ("irem", I32, _remainder),
    ("udiv", U32, lambda x, y: x // y),
    ("urem", U32, lambda x, y: x % y),
    ("ldiv_", I64, _quotient),
    ("uldiv", U64, lambda x, y: x // y),
]
FLOAT: list[tuple[str, Any, Binary]] = [
    ("fadd", F32, lambda x, y: x + y),
    ("fsub", F32, lambda x, y: x - y),
    ("fmul", F32, lambda x, y: x * y),
    ("ffma", F32, _fused),
    ("fmin_", F32, np.fmin),
    ("fmax_", F32, np.fmax),
    ("fmad", F32, lambda x, y: flushed(x * y) + x),
    ("fneg", F32, lambda x, y: -x - y),
    ("fabs_", F32, lambda x, y: np.abs(x) + y),
    ("ffloor", F32, lambda x, y: np.floor(x) + np.ceil(y)),
    ("ftrunc", F32, lambda x, y: np.trunc(x) + np.rint(y)),
    ("fround", F32, lambda x, y: _away(x) + y),
    ("fcopys", F32, np.copysign),
    ("fcmp", F32, lambda x, y: _choose(x < y, x, _choose(np.isnan(x), F32(0), y))),
    ("fmed3", F32, _median_with_one),
    ("fclamp", F32, lambda x, y: np.fmin(np.fmax(x + y, F32(0)), F32(1))),
    ("fclass", F32, lambda x, y: _choose(np.isinf(x), F32(1), y)),
    ("dadd", F64, lambda x, y: x + y),
    ("dmul", F64, lambda x, y: x * y),
    ("ddiv", F64, lambda x, y: x / y),
    ("dsqrt", F64, lambda x, y: np.sqrt(x) + y),
    ("dfma", F64, _fused),
    ("dmin", F64, np.fmin),
    ("dmax", F64, np.fmax),
    ("dcmp", F64, lambda x, y: _choose(x < y, x, y)),
    ("dfloor", F64, lambda x, y: np.floor(x) + np.trunc(y)),
    ("dneg", F64, lambda x, y: -x + np.abs(y)),
    ("hadd", F16, lambda x, y: x + y),
    ("hmul", F16, lambda x, y: x * y),
    ("hmin", F16, lambda x, y: _choose(x < y, x, y)),
    ("hfma", F16, _fused),
]
KEEPING: dict[str, Binary] = {"fmad": lambda x, y: x * y + x}
"""Those that compute something else where denormals are kept."""
TAU = 2 * np.pi


def _wide(function: Binary) -> Binary:
    """Computed in f64, rounded once."""
    return lambda x, y: function(x.astype(F64), y.astype(F64)).astype(x.dtype)


MILD: list[tuple[str, Any, Binary, float, float]] = [
    ("fdiv", F32, _wide(lambda x, y: x / y), 3e-7, 0),
    ("fsqrt_", F32, _wide(lambda x, y: np.sqrt(np.abs(x)) + y), 4e-7, 4e-7),
    ("fldexp", F32, _wide(lambda x, y: np.ldexp(x, y.astype(I32))), 0, 0),
    ("ffrexp", F32, lambda x, y: np.frexp(x)[0] + np.frexp(y)[1].astype(F32), 0, 0),
    ("frcp", F32, _wide(lambda x, y: 1 / x + 1 / np.sqrt(y)), 3e-7, 0),
    ("fsin_", F32, _wide(lambda x, y: np.sin(TAU * x) + np.cos(TAU * y)), 0, 2e-5),
    ("ffract", F32, lambda x, y: (x - np.floor(x)) * y, 0, 0),
    ("drcp", F64, lambda x, y: 1 / x + 1 / np.sqrt(y), 1e-6, 0),
    ("hdiv", F16, lambda x, y: (x.astype(F32) / y.astype(F32)).astype(F16), 1e-3, 1e-7),
]
"""On numbers around 1 only; with a tolerance, relative and absolute."""

CONVERSIONS: list[tuple[str, Any, Any, float]] = [
    ("i2f", I32, F32, 31), ("u2f", U32, F32, 32), ("f2i", F32, I32, 30), ("f2u", F32, U32, 31),
    ("i2d", I32, F64, 31), ("u2d", U32, F64, 32), ("d2i", F64, I32, 30), ("d2u", F64, U32, 31),
    ("f2d", F32, F64, 99), ("d2f", F64, F32, 99), ("f2h", F32, F16, 12), ("h2f", F16, F32, 99),
    ("l2f", I64, F32, 63), ("l2d", I64, F64, 63), ("d2l", F64, I64, 62), ("f2l", F32, I64, 62),
    ("ul2d", U64, F64, 64), ("uc2f", U8, F32, 8), ("f2uc", F32, U8, 8), ("s2h", I16, F16, 15),
    ("h2s", F16, I16, 14), ("c2i", I8, I32, 7), ("i2l", I32, I64, 31),
]  # fmt: skip
"""Name, from, to, and the power of two that bounds what is converted to an integer."""

_SIGNED_RESULT = {"llshr": I64}


def _binary(name: str, dtype: Any, function: Binary, x: Array, y: Array, tolerance: float = 0,
            slack: float = 0) -> Case:  # fmt: skip
    with np.errstate(all="ignore"):
        right = np.asarray(function(flushed(x), flushed(y)))
        kept = np.asarray(KEEPING.get(name, function)(x, y)).astype(dtype)
    right = flushed(right.astype(dtype))
    case = one("arith", name, COUNT, 64, ("a", "b", "c"), {"c": right}, tolerance=tolerance,
               slack=slack, a=x, b=y, c=np.zeros(COUNT, dtype))  # fmt: skip
    return replace(case, with_denormals={"c": kept})


def _divided(name: str, dtype: Any, function: Binary, seed: int) -> Case:
    x, y = integers(dtype, seed), integers(dtype, seed + 1)
    y[y == 0] = 3
    if dtype in (I32, I64):
        y[(y == -1) & (x == np.iinfo(dtype).min)] = 5
    return _binary(name, dtype, function, x, y)


def _mild(
    name: str, dtype: Any, function: Binary, tolerance: float, slack: float, seed: int
) -> Case:
    x, y = (floats(dtype, s, special=False, low=-3, high=3) for s in (seed, seed + 1))
    if name in ("frcp", "drcp", "fsqrt_"):
        x, y = np.abs(x), np.abs(y)
    return _binary(name, dtype, function, x, y, tolerance, slack)


def _converted(name: str, source: Any, target: Any, bound: float, seed: int) -> Case:
    from_float = np.issubdtype(source, np.floating)
    if not from_float:
        values = integers(source, seed)
    elif np.issubdtype(target, np.floating):
        values = floats(source, seed, high=min(bound, 12))
    else:
        values = floats(source, seed, special=False, low=-2, high=bound)
        if np.issubdtype(target, np.unsignedinteger):
            values = np.abs(values)
    with np.errstate(all="ignore"):
        right = flushed(flushed(values).astype(target))
        kept = values.astype(target)
    case = one("arith", name, COUNT, 64, ("a", "c"), {"c": right}, a=values,
               c=np.zeros(COUNT, target))  # fmt: skip
    return replace(case, with_denormals={"c": kept})


def _cases() -> list[Case]:
    cases = []
    for seed, (name, dtype, function) in enumerate(INTEGER):
        cases.append(_binary(name, dtype, function, integers(dtype, 500 + 2 * seed),
                             integers(dtype, 501 + 2 * seed)))  # fmt: skip
    for seed, division in enumerate(DIVISIONS):
        cases.append(_divided(*division, 600 + 2 * seed))
    for seed, (name, dtype, function) in enumerate(FLOAT):
        cases.append(_binary(name, dtype, function, floats(dtype, 700 + 2 * seed),
                             floats(dtype, 701 + 2 * seed)))  # fmt: skip
    cases += [_mild(*mild, 800 + 2 * seed) for seed, mild in enumerate(MILD)]
    cases += [_converted(*each, 900 + seed) for seed, each in enumerate(CONVERSIONS)]
    return cases


CASES = _cases()
