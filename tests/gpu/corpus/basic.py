"""Vectors, reductions, histograms, transposes, products, private memory, calls, globals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.gpu.corpus.case import Array, Buffers, Case, Launch, one

F32 = np.float32


def rng(seed: int) -> np.random.Generator:
    """Inputs only have to be the same for model and oracle."""
    return np.random.default_rng(seed)


def floats(seed: int, *shape: int) -> Array:
    return rng(seed).uniform(-4, 4, shape).astype(F32)


def ints(seed: int, count: int, low: int = -(1 << 31), high: int = 1 << 31) -> Array:
    return rng(seed).integers(low, high, count).astype(np.int32)


def _vectors() -> list[Case]:
    cases = []
    for n, grid, group in ((300, 320, 64), (1, 64, 64), (130, 192, 48), (257, 257, 256)):
        a, b = floats(1, n), floats(2, n)
        cases.append(
            one("vadd", "vadd", grid, group, ("a", "b", "c", n), {"c": a + b},
                name=f"vadd.vadd {n} of {grid} by {group}", a=a, b=b, c=np.zeros(n, F32))
        )  # fmt: skip
    a, b = ints(3, 200), ints(4, 200)
    cases.append(one("vadd", "vadd_i", 200, 64, ("a", "b", "c"), {"c": a + b}, a=a, b=b, c=0 * a))
    x, y, n, k = floats(5, 150), floats(6, 150), 150, F32(2.5)
    call = (k, "x", "y", n)
    cases.append(one("saxpy", "saxpy", 192, 64, call, {"y": k * x + y}, x=x, y=y))
    fused = (np.float64(k) * x + y).astype(F32)
    cases.append(one("saxpy", "saxpy_fma", 192, 64, call, {"y": fused}, x=x, y=y, slack=5e-7))
    cases.append(one("saxpy", "saxpy_stride", 64, 64, call, {"y": k * x + y}, x=x, y=y))
    dx, dy = x.astype(np.float64), y.astype(np.float64)
    cases.append(
        one("saxpy", "daxpy", 192, 64, (0.5, "x", "y", n), {"y": 0.5 * dx + dy}, x=dx, y=dy)
    )
    return cases


def _reductions() -> list[Case]:
    data, n = ints(7, 1000, -1000, 1000), 1000
    padded = np.zeros(1024, np.int64)
    padded[:n] = data
    sums = padded.reshape(-1, 2, 256).sum((0, 2)).astype(np.int32)
    f = floats(8, 128)
    tree = f.reshape(2, 64)
    while tree.shape[1] > 1:
        half = tree.shape[1] // 2
        tree = tree[:, :half] + tree[:, half:]
    return [
        one("reduce", "reduce_lds", 512, 256, ("in", "out", n), {"out": sums},
            **{"in": data, "out": np.zeros(2, np.int32)}),
        one("reduce", "reduce_atomic", 512, 256, ("in", "out", n),
            {"out": data.sum(keepdims=True).astype(np.int32)},
            **{"in": data, "out": np.zeros(1, np.int32)}),
        one("reduce", "reduce_f32", 128, 64, ("in", "out"), {"out": tree[:, 0]},
            **{"in": f, "out": np.zeros(2, F32)}),
    ]  # fmt: skip


def _histograms() -> list[Case]:
    data = rng(9).integers(0, 256, 700).astype(np.uint8)
    counts = np.bincount(data, minlength=256).astype(np.uint32)
    zeros = np.zeros(256, np.uint32)
    return [
        one("histogram", "hist_global", 128, 64, ("in", "h", 700), {"h": counts},
            **{"in": data, "h": zeros}),
        one("histogram", "hist_local", 512, 256, ("in", "h", 700), {"h": counts},
            **{"in": data, "h": zeros}),
    ]  # fmt: skip


def _chained(operation: Callable[[int, int], int], start: Array, operands: Array) -> Any:
    """Each old value has to come from the operation before it: as edges ``old -> new``, the
    operations on one word leave every value as often as they reach it, but for first and last."""

    def check(buffers: Buffers) -> str | None:
        for place in range(len(start)):
            lanes = range(place, len(operands), len(start))
            balance: dict[int, int] = {int(start[place]): 1}
            final = int(buffers["p"][place])
            balance[final] = balance.get(final, 0) - 1
            for lane in lanes:
                old = int(buffers["old"][lane])
                new = operation(old, int(operands[lane]))
                balance[old] = balance.get(old, 0) - 1
                balance[new] = balance.get(new, 0) + 1
            if any(balance.values()):
                return f"word {place}: no order of the operations gives these old values"
        return None

    return check


def _wrap(value: int, bits: int = 32, signed: bool = True) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def _atomics() -> list[Case]:
    start, x = ints(10, 8), ints(11, 128)
    operations: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: _wrap(a + b), "sub": lambda a, b: _wrap(a - b),
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "min": min, "max": max,
    }  # fmt: skip
    cases = []
    for name, operation in operations.items():
        final = []
        for place in range(8):
            value = int(start[place])
            for operand in x[place::8]:
                value = operation(value, int(operand))
            final.append(value)
        cases.append(
            one("histogram", f"at_{name}", 128, 64, ("p", "x", "old"),
                {"p": np.array(final, np.int32)}, check=_chained(operation, start, x),
                p=start, x=x, old=np.zeros(128, np.int32))
        )  # fmt: skip
    u = x.view(np.uint32)
    one_word = np.array([5], np.uint32)
    old = np.zeros(128, np.uint32)
    cases.append(
        one("histogram", "at_umax", 128, 64, ("p", "x", "old"),
            {"p": u.max(keepdims=True)}, check=_chained(max, one_word, u), p=one_word, x=u, old=old)
    )  # fmt: skip

    def exchanged(buffers: Buffers) -> str | None:
        seen = sorted([*buffers["old"].tolist(), *buffers["p"].tolist()])
        return None if seen == sorted([5000, *range(128)]) else "a value is lost or there twice"

    cases.append(
        one("histogram", "at_xchg", 128, 64, ("p", "old"), check=exchanged,
            p=np.array([5000], np.uint32), old=old)
    )  # fmt: skip
    wide = np.array([1 << 40], np.uint64)
    cases.append(
        one("histogram", "at_add64", 128, 64, ("p", "old"), {"p": wide + np.uint64(127 * 64)},
            check=_chained(lambda a, b: a + b, wide, np.arange(128)), p=wide,
            old=np.zeros(128, np.uint64))
    )  # fmt: skip
    cases.append(
        one("histogram", "at_cas_fadd", 64, 64, ("p", F32(0.25)), {"p": np.array([17], F32)},
            p=np.array([1], F32))
    )  # fmt: skip
    return cases


def _matrices() -> list[Case]:
    w, h = 37, 21
    m = floats(12, h, w)
    cases = [
        one("transpose", kernel, (48, 32), (16, 16), ("in", "out", w, h),
            {"out": np.ascontiguousarray(m.T)}, **{"in": m, "out": np.zeros((w, h), F32)})
        for kernel in ("transpose", "transpose_naive")
    ]  # fmt: skip
    n = 32
    a, b = floats(13, n, n), floats(14, n, n)
    c = np.zeros((n, n), F32)
    for k in range(n):
        c = c + a[:, k : k + 1] * b[k : k + 1, :]
    call = ("a", "b", "c", n)
    return [
        *cases,
        one("matmul", "matmul", (n, n), (16, 16), call, {"c": c}, a=a, b=b, c=0 * c),
    ]


def _private() -> list[Case]:
    data, n = ints(15, 64, -1000, 1000), 9
    out = []
    for i in range(64):
        t = [int(data[(i + k) & 63]) for k in range(64)]
        j = i & 63
        for k in range(n):
            t[j] = t[(j * 7 + k) & 63] + k
            j = t[k & 63] & 63
        out.append(t[j])
    lists = ints(16, 64 * 32)
    return [
        one("scratch", "scratch", 64, 64, ("in", "out", n), {"out": np.array(out, np.int32)},
            **{"in": data, "out": np.zeros(64, np.int32)}),
        one("scratch", "isort", 64, 64, ("d",), {"d": np.sort(lists.reshape(64, 32), axis=1)},
            d=lists),
    ]  # fmt: skip


def _calls() -> list[Case]:
    x = ints(17, 100, -1000, 1000)
    small = rng(18).integers(0, 9, 70).astype(np.int32)
    fibonacci = [0, 1]
    while len(fibonacci) < 10:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    g = ints(19, 64)
    t = np.arange(64, dtype=np.int32)
    generic = {0: g[t & 7], 1: (t & 7) * 3, 2: (t & 7) + g[t & 7]}
    o = np.zeros(64, np.int32)
    return [
        one("calls", "call1", 100, 64, ("x",), {"x": x * np.arange(100, dtype=np.int32) + 1}, x=x),
        one("calls", "call_rec", 70, 64, ("x",), {"x": np.array(fibonacci, np.int32)[small]},
            x=small, private=4096),
        *(
            one("flatgen", kernel, 64, 64, ("g", "o", chosen), {"o": right.astype(np.int32)},
                name=f"flatgen.{kernel} {chosen}", g=g, o=o)
            for kernel in ("gen3", "gen3_call")
            for chosen, right in generic.items()
        ),
    ]  # fmt: skip


def _globals() -> list[Case]:
    x = ints(20, 100)
    table = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3], np.int32)
    record = b"\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\x20\x40\x09\0\0\0\0\0\0\0"
    from gpu.code_object import LocalBytes

    given = (-1, 65535, F32(1.5), 2.5, (1, 2, 3, 4), (5, 6, 7), record, LocalBytes(256), "out",
             LocalBytes(512))  # fmt: skip
    total = -1 + 65535 + int(1.5 + 2.5) + 4 + 7 + 7 + 8 + 9
    return [
        one("globals", "lut", 100, 64, ("x",), {"x": table[x & 15] + 7}, x=x),
        Case("globals.bump", "globals", {}, (Launch("bump", (100,), (64,), ()),)),
        one("pointers", "follow", 100, 64, ("out",), {"out": np.arange(30, 130, dtype=np.int32)},
            out=np.zeros(100, np.int32)),
        one("pointers", "arguments", 128, 64, given, {"out": np.full(128, total, np.uint64)},
            out=np.zeros(128, np.uint64)),
    ]  # fmt: skip


CASES = [
    *_vectors(), *_reductions(), *_histograms(), *_atomics(), *_matrices(), *_private(), *_calls(),
    *_globals(),
]  # fmt: skip
