"""Sorting, dynamic programming, stencils, elimination; groups that wait for each other."""

from __future__ import annotations

import numpy as np

from tests.gpu.corpus.basic import F32, rng
from tests.gpu.corpus.case import Array, Case, one

I32, U8, U32, U64 = np.int32, np.uint8, np.uint32, np.uint64
ODD = np.dtype([("t", "u1"), ("v", "<u4"), ("k", "<u2"), ("q", "<u8")])


def _sorts() -> list[Case]:
    wide = rng(500).integers(0, 1 << 63, 256, U64)
    right = np.sort(wide.reshape(2, 128), axis=1)
    right[1] = right[1, ::-1]
    keys = rng(501).integers(0, 1 << 32, 150, U32)
    return [
        one("algorithms", "bitonic", 128, 64, ("data",), {"data": right.reshape(-1)}, data=wide),
        one("algorithms", "radix", 70, 70, ("keys", "other", 150), {"keys": np.sort(keys)},
            keys=keys, other=np.zeros(150, U32)),
    ]  # fmt: skip


def _distance(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _edits() -> Case:
    a, b = (rng(seed).integers(97, 100, (2, 20)).astype(np.int8) for seed in (502, 503))
    right = [_distance(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return one("algorithms", "edits", 128, 64, ("a", "b", "out", 20), {"out": np.array(right, I32)},
               a=a, b=b, out=np.zeros(2, I32))  # fmt: skip


def _turned() -> Case:
    values = rng(504).normal(size=128).astype(F32)
    right = values.reshape(2, 64)[:, ::-1].reshape(-1)
    return one("algorithms", "turned", 128, 64, ("in", "out"), {"out": right},
               **{"in": values, "out": np.zeros(128, F32)})  # fmt: skip


def _shortest() -> Case:
    d = rng(505).integers(1, 1000, (9, 9)).astype(I32)
    d[rng(506).random((9, 9)) < 0.5] = 10**6
    right = d.copy()
    for k in range(9):
        others = np.arange(9) != k
        via = right[:, k, None] + right[None, k]
        better = (via < right) & others[:, None] & others
        right[better] = via[better]
    return one("algorithms", "shortest", (8, 8), (8, 8), ("d", 9), {"d": right}, d=d)


def _life() -> Case:
    cells = rng(507).integers(0, 2, (11, 21)).astype(U8)
    around = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y)
    right = ((around == 3) | (around == 2) & (cells == 1)).astype(U8)
    return one("algorithms", "life", (21, 11), (16, 8), ("in", "out", 21, 11), {"out": right},
               **{"in": cells, "out": np.zeros_like(cells)})  # fmt: skip


def _lu() -> Case:
    a = rng(508).normal(size=(7, 7)) + 9 * np.eye(7)
    right = a.copy()
    for k in range(7):
        right[k + 1 :, k] /= right[k, k]
        right[k + 1 :, k + 1 :] -= right[k + 1 :, k, None] * right[k, k + 1 :]
    return one("algorithms", "lu", 64, 64, ("a", 7), {"a": right}, a=a)


def _packed() -> Case:
    p = np.frombuffer(rng(509).integers(0, 256, 15 * 70).astype(U8).tobytes(), ODD)
    out = p["v"] * p["k"].astype(U64) + p["q"] - p["t"]
    right = p.copy()
    right["v"] ^= p["t"]
    right["q"] += p["k"]
    right["k"] = p["v"] >> 7 & 0xFFFF
    return one("algorithms", "packed", 70, 64, ("p", "out"), {"p": right.view(U8), "out": out},
               p=p.view(U8), out=np.zeros(70, U64))  # fmt: skip


def _groups() -> list[Case]:
    values = rng(510).integers(0, 1 << 32, 5 * 64, U32)
    sums = np.cumsum(values, dtype=U32)
    total: Array = np.zeros(64, I32)
    for k in range(9):
        total = total * I32(5) + (k * k + np.arange(64)).astype(I32)
    return [
        one("algorithms", "lookback", 320, 64, ("in", "out", "state", "ticket"), {"out": sums},
            **{"in": values, "out": np.zeros(320, U32), "state": np.zeros(5, U64),
               "ticket": np.zeros(1, U32)}),
        one("algorithms", "handed_over", 128, 64, ("box", "put", "taken", "out", 9),
            {"out": total}, box=np.zeros(256, I32), put=np.zeros(1, U32), taken=np.zeros(1, U32),
            out=np.zeros(64, I32)),
    ]  # fmt: skip


CASES = [
    *_sorts(), _edits(), _turned(), _shortest(), _life(), _lu(), _packed(), *_groups(),
]  # fmt: skip
