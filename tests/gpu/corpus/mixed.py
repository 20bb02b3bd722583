"""Jump tables, structures, short vectors, large private arrays, atomics in LDS and of 64 bits,
numbers of 16 bits two by two."""

from __future__ import annotations

import math

import numpy as np

from gpu.code_object import LocalBytes
from tests.gpu.corpus.basic import F32, ints, rng
from tests.gpu.corpus.case import Array, Case, one

I16, I32, I64, U32 = np.int16, np.int32, np.int64, np.uint32
F16 = np.float16
RECORD = np.dtype(
    {
        "names": ["a", "v", "c"],
        "formats": [("<i4", 6), ("<f4", 4), "i1"],
        "offsets": [0, 32, 48],
        "itemsize": 64,
    }
)


def _signed(value: int) -> int:
    return (value + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)


def _chosen(x: int, y: int) -> int:
    results = (y + 1, y * 3, y ^ 0x55, y - 7, y << 2, ~y, y * y, y >> 3, y & 255, y | 4096,
               int(math.fmod(y, 97)), 0)  # fmt: skip
    return _signed(results[x])


def _jump_table() -> Case:
    x, which = ints(400, 100, -1000, 1000), ints(401, 100, 0, 12)
    right = []
    for value, first in zip(x.tolist(), which.tolist(), strict=True):
        for k in range(5):
            value = _chosen((first + k) % 12, value)
        right.append(value)
    return one("mixed", "jump_table", 100, 64, ("x", "which"), {"x": np.array(right, I32)}, x=x,
               which=which)  # fmt: skip


def _structures() -> Case:
    prng, p = rng(402), np.zeros(70, RECORD)
    p["a"], p["v"], p["c"] = (prng.integers(-9, 9, shape) for shape in ((70, 6), (70, 4), 70))
    given = p[3]
    out = []
    for i, each in enumerate(p):
        q = each["v"][::-1] * given["v"] + np.array([1, 2, 3, 4], F32)
        number = each["a"][i % 6] + given["a"][(i + 1) % 6]
        out.append(q[0] + q[1] * q[2] - q[3] + number + each["c"])
    return one("mixed", "structures", 70, 64, (given.tobytes(), "p", "out"),
               {"out": np.array(out, F32)}, p=p.view(np.uint8), out=np.zeros(70, F32))  # fmt: skip


def _short_vectors() -> Case:
    a = rng(403).integers(0, 256, (70, 4)).astype(np.uint8)
    b = rng(404).integers(-30000, 30000, (70, 2)).astype(np.int16)
    u, s = a.astype(I32), b.astype(I32)
    right = np.stack([u[:, 0] + s[:, 0], u[:, 1] * s[:, 1], u[:, 2] << 8 | u[:, 3],
                      s[:, 0] * s[:, 1]], 1)  # fmt: skip
    return one("mixed", "short_vectors", 70, 64, ("a", "b", "out"), {"out": right}, a=a, b=b,
               out=np.zeros((70, 4), I32))  # fmt: skip


def _bins() -> Case:
    data = ints(405, 500, 0).astype(U32)
    right = np.bincount(data % U32(77), minlength=77).astype(U32)
    return one("mixed", "bins", 256, 128, ("in", "out", LocalBytes(4 * 77), 500, 77),
               {"out": right}, **{"in": data, "out": np.zeros(77, U32)})  # fmt: skip


def _large_private() -> Case:
    out = []
    for i in range(70):
        a = [k * i for k in range(200)]
        for k in range(40):
            a[int(math.fmod(a[(k * 37 + i) % 200] + k, 200)) % 200] ^= k + i
        total = 0
        for each in a:
            total = _signed(total * 31 + each)
        out.append(total)
    return one("mixed", "large_private", 70, 64, ("out", 40), {"out": np.array(out, I32)},
               out=np.zeros(70, I32))  # fmt: skip


def _atomics() -> list[Case]:
    start = np.array([-5, 5, 1, 0], I64)
    x: Array = rng(406).integers(-(1 << 56), 1 << 56, 100)
    right = [max(-5, x.max()), min(5, x.min()), 1 ^ np.bitwise_xor.reduce(x), -x.sum()]
    total = sum(lane << 33 for lane in range(64))
    words = [sum(range(64)), -20, -1, 128, total >> 32, 0]
    return [
        one("mixed", "wide_atomics", 100, 64, ("p", "x"), {"p": np.array(right, I64)}, p=start,
            x=x),
        one("mixed", "lds_atomics", 128, 64, ("out",), {"out": np.array(words * 2, I32)},
            out=np.zeros(12, I32)),
    ]  # fmt: skip


def _halves() -> list[Case]:
    """What gfx900 computes two at a time."""
    n, prng = 128, rng(407)
    x, y = (prng.uniform(-4, 4, (n, 2)).astype(F16) for _ in range(2))
    shorts, others = (prng.integers(-(1 << 15), 1 << 15, (n, 2)).astype(I16) for _ in range(2))
    u, v = (prng.integers(0, 1 << 16, (n, 2)).astype(np.uint16) for _ in range(2))
    sums = prng.uniform(-4, 4, n).astype(F32)
    fractions = x * y[:, ::-1] + np.array([1, -0.5], F16) - y
    most = np.maximum(shorts * I16(-77), others[:, ::-1])
    least = np.minimum(most, np.array([5000, 7000], I16)) - (others >> np.array([3, 1], I16))
    counts = (np.maximum(u, v) << np.array([2, 5], np.uint16)) + (
        np.minimum(u, v[:, ::-1]) >> np.array([1, 4], np.uint16)
    ) * v
    wide = x.astype(F32)
    total = wide[:, 0] * wide[:, 1] + sums
    low = (wide[:, 1] * F32(0.5) + total).astype(F16)
    octets = prng.integers(-128, 128, 3 * n).astype(np.int8)
    parts = np.stack([shorts[:, 1], octets[::3]], 1) + np.stack([octets[1::3], shorts[:, 0]], 1)
    return [
        one("packed", "packed_halves", n, 64, ("a", "b"), {"a": fractions}, a=x, b=y),
        one("packed", "packed_shorts", n, 64, ("a", "b", -77), {"a": least}, a=shorts, b=others),
        one("packed", "packed_counts", n, 64, ("a", "b"), {"a": counts}, a=u, b=v),
        one("packed", "mixed_sums", n, 64, ("a", "sum", "low"), {"sum": total, "low": low}, a=x,
            sum=sums, low=np.zeros(n, F16)),
        one("packed", "join_halves", n, 64, ("a", "b", "c"), {"c": parts.astype(I16)}, a=shorts,
            b=octets, c=np.zeros((n, 2), I16)),
    ]  # fmt: skip


CASES = [
    _jump_table(), _structures(), _short_vectors(), _bins(), _large_private(), *_atomics(),
    *_halves(),
]  # fmt: skip
