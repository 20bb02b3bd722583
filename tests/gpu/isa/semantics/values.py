"""Operands for tests: random ones and the awkward ones of every type."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.semantics import SEMANTICS, Semantics
from gpu.isa.wave_registers import FloatMode

STOCK = FloatMode(0x3C0)
"""What compilers set for OpenCL: nearest, f32 denormals flushed, others kept, IEEE, clamp NaN."""

KINDS: dict[str, Any] = {
    "b16": np.uint16, "u16": np.uint16, "i16": np.int16, "f16": np.float16,
    "b32": np.uint32, "u32": np.uint32, "i32": np.int32, "f32": np.float32,
    "b64": np.uint64, "u64": np.uint64, "i64": np.int64, "f64": np.float64,
    "mask": np.bool_, "b128": np.uint32,
}  # fmt: skip

_FLOAT_PATTERNS = {
    "f16": (
        0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x0401, 0x8400, 0x3555, 0x3800, 0x3BFF,
        0x3C00, 0x3C01, 0xBC00, 0x4000, 0x4248, 0x63FF, 0x6400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
        0x7C01, 0x7E00, 0xFE12,
    ),
    "f32": (
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x00800001,
        0x80800000, 0x00FFFFFF, 0x33800000, 0x3EAAAAAB, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF,
        0x3F800000, 0x3F800001, 0xBF800000, 0xBF000000, 0x40000000, 0x40490FDB, 0x4AFFFFFF,
        0x4B000001, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000,
        0x7E800000, 0x7F000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
        0x7FC00000, 0xFFC12345,
    ),
    "f64": (
        0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800FFFFFFFFFFFFF,
        0x0010000000000000, 0x0010000000000001, 0x3FD5555555555555, 0x3FE0000000000000,
        0x3FEFFFFFFFFFFFFF, 0x3FF0000000000000, 0x3FF0000000000001, 0xBFF0000000000000,
        0x400921FB54442D18, 0x36A0000000000000, 0x3810000000000000, 0x380FFFFFF0000000,
        0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000000200000, 0x41EFFFFFFFE00000,
        0x4330000000000001, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x7FE0000000000000,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
        0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8000000012345,
    ),
}  # fmt: skip


def specials(kind: str) -> np.ndarray[Any, Any]:
    """The awkward values of a type."""
    dtype = np.dtype(KINDS[kind])
    if kind in _FLOAT_PATTERNS:
        return np.array(_FLOAT_PATTERNS[kind], f"u{dtype.itemsize}").view(dtype)
    width = 8 * dtype.itemsize
    patterns = {0, 1, 2, 3, 31, 32, 33, 63, 64, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0xFFFFFF, 0x800000}
    patterns |= {1 << (width - 1), (1 << (width - 1)) - 1, (1 << width) - 1, (1 << width) - 2}
    return np.array(sorted(p for p in patterns if p >> width == 0), f"u{dtype.itemsize}").view(
        dtype
    )


def random(kind: str, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Random bit patterns; for floating point, half of them numbers of moderate size."""
    if kind == "mask":
        return rng.integers(0, 2, count).astype(np.bool_)
    if kind == "b128":
        return rng.integers(0, 2**32, (4, count), dtype=np.uint32)
    dtype = np.dtype(KINDS[kind])
    bits = rng.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8).view(dtype)[:, 0]
    if dtype.kind != "f":
        return bits.copy()
    moderate = (rng.standard_normal(count) * 2.0 ** rng.integers(-6, 7, count)).astype(dtype)
    return np.where(rng.integers(0, 2, count).astype(np.bool_), bits, moderate)


def operands(kinds: tuple[str, ...], seed: int = 1, extra: int = 64) -> list[np.ndarray[Any, Any]]:
    """All combinations of up to two types' specials, then random values; one array a type."""
    rng = np.random.default_rng(seed)
    columns = []
    sizes = [len(specials(kind)) if kind not in ("mask", "b128") else 4 for kind in kinds]
    total = min(int(np.prod(sizes)), 1500)
    for kind, size in zip(kinds, sizes):
        if kind in ("mask", "b128"):
            columns.append(random(kind, total + extra, rng))
            continue
        if len(kinds) <= 2:
            stride = int(np.prod(sizes[len(columns) + 1 :]))
            picks = np.arange(total) // stride % size
        else:
            picks = rng.integers(0, size, total)
        columns.append(np.concatenate([specials(kind)[picks], random(kind, extra, rng)]))
    return columns


def run(name: str | Semantics, *arrays: Any, mode: FloatMode = STOCK) -> Any:
    """An instruction's result over lanes, called as the binder calls it."""
    semantics = SEMANTICS[name] if isinstance(name, str) else name
    arguments = [mode, *arrays] if semantics.takes_mode else list(arrays)
    with fp_environment.plain_afterwards():
        fp_environment.use(mode.environments[semantics.environment])
        return semantics.function(*arguments)


def same(a: Any, b: Any) -> np.ndarray[Any, Any]:
    """Which lanes agree: equal bits, or two NaNs."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    if a.dtype.kind != "f":
        return a == b
    bits = f"u{a.dtype.itemsize}"
    return (a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))
