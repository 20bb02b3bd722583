"""Kernels of lane-crossing instructions, one wave after the other."""

from __future__ import annotations

import numpy as np

from tests.gpu.corpus.basic import ints, rng
from tests.gpu.corpus.case import Array, Buffers, Case, one

U32, I32 = np.uint32, np.int32
LANE = np.arange(64)


def _waves(values: Array) -> Array:
    return values.reshape(-1, 64)


def _ballot() -> Case:
    x = rng(70).integers(0, 2, 128).astype(I32)
    masks = [int(sum(1 << int(lane) for lane in np.flatnonzero(wave))) for wave in _waves(x)]
    ranks = np.cumsum(_waves(x), axis=1) - _waves(x)
    return one("wave", "ballot", 128, 64, ("x", "o", "idx"),
               {"o": np.array(masks, np.uint64), "idx": ranks.astype(U32)}, x=x,
               o=np.zeros(2, np.uint64), idx=np.zeros(128, U32))  # fmt: skip


def _permuted() -> list[Case]:
    x = ints(71, 128)
    first = _waves(x)[:, :1] + _waves(x)[:, 5:6]
    swizzled = _waves(x)
    for flip in (1, 2):
        swizzled = swizzled + swizzled[:, LANE ^ flip]
    order = np.concatenate([rng(72).permutation(64), rng(73).permutation(64)]).astype(I32)
    sent = np.zeros((2, 64), I32)
    for wave in range(2):
        own, to = _waves(x)[wave], _waves(order)[wave]
        sent[wave][to] = own
        sent[wave] += own[to]
    mirrored = _waves(x)[:, LANE ^ 2] + _waves(x)[:, LANE ^ 15]
    return [
        one("wave", "rfl", 128, 64, ("x",), {"x": np.repeat(first, 64, axis=1)}, x=x),
        one("wave", "swz", 128, 64, ("x",), {"x": swizzled}, x=x),
        one("wave", "bperm", 128, 64, ("x", "p"), {"x": sent}, x=x, p=order),
        one("wave", "dpp", 128, 64, ("x",),
            {"x": np.cumsum(_waves(x).astype(np.int64), axis=1).astype(I32)}, x=x),
        one("wave", "dppwave", 128, 64, ("x",), {"x": mirrored}, x=x),
    ]  # fmt: skip


def _bytes_of(values: Array) -> Array:
    return values.view(np.uint8).reshape(-1, 4).astype(np.int64)


def _mixed() -> Case:
    x = rng(74).integers(0, 1 << 32, 128, dtype=np.uint64).astype(U32)
    a, b = x[:64], x[64:]
    picked = np.stack([_bytes_of(b)[:, 0], _bytes_of(a)[:, 1], _bytes_of(a)[:, 2],
                       _bytes_of(b)[:, 1]], 1).astype(np.uint8).view(U32)[:, 0]  # fmt: skip
    aligned = ((a.astype(np.uint64) << np.uint64(32) | b) >> np.uint64(5)).astype(U32)
    distance = (np.abs(_bytes_of(a) - _bytes_of(b)).sum(1) + 1).astype(U32)
    field = a >> U32(3) & U32(0x1FF)
    rounding = np.array([1, 0, 0, 0])
    mean = ((_bytes_of(a) + _bytes_of(b) + rounding) >> 1).astype(np.uint8).view(U32)[:, 0]
    right = x.copy()
    right[:64] = picked + aligned + distance + field + mean
    return one("wave", "perm", 64, 64, ("x",), {"x": right}, x=x)


def _clock() -> Case:
    def near(buffers: Buffers) -> str | None:
        """Both clocks count from the start of the run; how fast is the model's own affair."""
        times = buffers["o"][:2].tolist()
        return None if max(times) < 1_000_000 else f"clocks are at {times}"

    return one("wave", "clk", 1, 64, ("o",), check=near, o=np.zeros(3, np.uint64))


CASES = [_ballot(), *_permuted(), _mixed(), _clock()]
