"""OpenCL's functions on vectors, and what chooses, converts and copies, in our headers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpu import Device, Signal
from gpu.code_object import CodeObject

SOURCE = Path(__file__).with_name("vector_functions.cl")
ITEMS = 64
Array = npt.NDArray[Any]
TYPES: dict[str, Any] = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
    "uint": np.uint32, "long": np.int64, "ulong": np.uint64,
}  # fmt: skip


@pytest.fixture(scope="module", params=[pytest.param("-O0", marks=pytest.mark.slow), "-O2"])
def compiled(
    request: pytest.FixtureRequest, compiled_with: Callable[[Path, str], CodeObject]
) -> CodeObject:
    return compiled_with(SOURCE, request.param)


def run(compiled: CodeObject, kernel: str, *arrays: Array, items: int = ITEMS) -> list[Array]:
    """Contents of the buffers afterwards."""
    device = Device(functional=True)
    queue = device.create_queue()
    buffers = [device.alloc(array) for array in arrays]
    done = Signal(1)
    queue.dispatch(compiled[kernel], (items,), (ITEMS,), buffers, completion=done)
    queue.ring()
    device.run(until=done)
    return [buffer.numpy() for buffer in buffers]


def integers(seed: int, kind: Any, count: int) -> Array:
    """Any, and many at the ends."""
    ends = np.iinfo(kind)
    numbers = np.random.default_rng(seed)
    values = numbers.integers(ends.min, ends.max, count, kind, endpoint=True)
    edges = np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], kind)
    return np.where(numbers.random(count) < 0.3, numbers.choice(edges, count), values)


def floats(seed: int, kind: Any, count: int) -> Array:
    numbers = np.random.default_rng(seed)
    values = (numbers.normal(size=count) * 4).astype(kind)
    edges = np.array([0, -0.0, 0.5, -0.5, 2.5, np.inf, -np.inf, np.nan, 1e30], kind)
    return np.where(numbers.random(count) < 0.3, numbers.choice(edges, count), values)


def of_type(compiled: CodeObject, prefix: str) -> list[str]:
    """The kernels of one type, in the widths that were compiled."""
    return [name for name in compiled.kernels if name.startswith(prefix)]


@pytest.mark.parametrize("name", TYPES)
def test_vectors_of_integers_are_their_elements(compiled: CodeObject, name: str) -> None:
    values = integers(1, TYPES[name], 8 * (ITEMS + 2))
    for kernel in of_type(compiled, f"integers_{name}"):
        found = run(compiled, kernel, values, np.ones(ITEMS, np.uint32))[1]
        assert not found.any(), f"{kernel}: {int(np.bitwise_or.reduce(found)):#x}"


@pytest.mark.parametrize("name", ["float", "double"])
def test_vectors_of_floats_are_their_elements(compiled: CodeObject, name: str) -> None:
    values = floats(2, np.float32 if name == "float" else np.float64, 8 * (ITEMS + 2))
    for kernel in of_type(compiled, f"floats_{name}"):
        found = run(compiled, kernel, values, np.ones(ITEMS, np.uint32))[1]
        assert not found.any(), f"{kernel}: {int(np.bitwise_or.reduce(found)):#x}"


def test_numbers(compiled: CodeObject) -> None:
    x = floats(3, np.float32, ITEMS)
    found = run(
        compiled, "numbers", x, np.zeros(11 * ITEMS, np.float32), np.zeros(7 * ITEMS, np.int32)
    )
    rows, classes = found[1].reshape(ITEMS, 11).T, found[2].reshape(ITEMS, 7).T
    one = np.float32(1)
    with np.errstate(all="ignore"):
        steps = np.clip((x + 2) / 4, 0, 1)
        away = np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)
        fraction = np.where(np.isinf(x), np.copysign(np.float32(0), x), x - np.floor(x))
        mantissa, exponent = np.frexp(x)
        expected = [
            np.where(np.isnan(x), 0, np.sign(x)), away,
            np.where(np.isnan(x), x, np.maximum(x - np.float32(0.5), 0)),
            np.where(np.abs(x) > 1, x, np.where(np.abs(x) < 1, -one, np.fmax(x, -one))),
            steps * steps * (3 - 2 * steps), fraction, np.floor(x), np.modf(x)[0], mantissa, x * 8,
        ]  # fmt: skip
    numbers = ~np.isnan(x)
    for number, row in enumerate(expected):
        judged = numbers | (number != 4)  # a smooth step of none is not defined
        assert np.allclose(
            rows[number][judged], row[judged], rtol=1e-6, atol=1e-7, equal_nan=True
        ), number
    finite = np.isfinite(x)
    angle = x[finite].astype(np.float64)
    assert np.allclose(rows[10][finite], np.degrees(angle) + np.radians(angle), rtol=1e-6)
    assert (classes[0][finite] == exponent[finite]).all()
    assert (classes[1] == np.signbit(x)).all() and (classes[2] == finite).all()
    assert (classes[3] == (finite & (x != 0))).all() and (classes[4] == (x >= 1)).all()
    assert (classes[5] == numbers).all() and (classes[6] == numbers).all()


@pytest.mark.parametrize("name", TYPES)
def test_products_and_sums_stop_at_the_ends(compiled: CodeObject, name: str) -> None:
    a, b, c = (integers(seed, TYPES[name], ITEMS) for seed in (4, 5, 6))
    ends = np.iinfo(TYPES[name])
    found = run(compiled, f"sums_{name}", a, b, c, np.zeros_like(a))[3]
    right = [
        min(max(int(x) * int(y) + int(z), int(ends.min)), int(ends.max)) for x, y, z in zip(a, b, c)
    ]
    assert found.tolist() == right


def _rounded(value: float, how: str) -> int:
    exact = Fraction(value)
    return {"e": round, "p": math.ceil, "n": math.floor, "z": math.trunc}[how](exact)


def _ended(n: int, x: float, low: int, high: int) -> list[int]:
    def clipped(value: float, how: str = "z") -> int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(_rounded(value, how), low), high)

    whole = [min(max(int(np.int64(n).astype(kind)), low), high) for kind in TYPES.values()]
    with np.errstate(over="ignore"):
        single = float(np.float32(x))
    return [
        *whole, clipped(single), clipped(x),
        *(clipped(value, how) for how in "epnz" for value in (x, -x)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_conversions_stop_at_the_ends(compiled: CodeObject, name: str) -> None:
    kind = TYPES[name]
    n = integers(7, np.int64, ITEMS) >> np.random.default_rng(8).integers(0, 60, ITEMS)
    x = floats(9, np.float64, ITEMS) * np.exp2(np.random.default_rng(10).integers(-4, 64, ITEMS))
    found = run(compiled, f"ends_{name}", n, x, np.zeros(20 * ITEMS, kind))[2].reshape(ITEMS, 20)
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    right = [_ended(int(a), float(b), low, high) for a, b in zip(n, x)]
    assert found[:, :18].tolist() == right
    small = np.isfinite(x) & (np.abs(x) < 1e6)
    y = (x[small] - np.floor(x[small] * 0.01) * 100).astype(np.float32)
    assert found[small, 18].tolist() == np.ceil(y).tolist()
    assert found[small, 19].tolist() == np.rint(y).tolist()


def test_choices(compiled: CodeObject) -> None:
    a, b, m = (integers(seed, np.int32, 4 * ITEMS).reshape(ITEMS, 4) for seed in (11, 12, 13))
    found = run(
        compiled, "choices", a, b, m, np.zeros((ITEMS, 6, 4), np.int32), np.zeros(ITEMS, np.uint64)
    )
    rows = found[3].transpose(1, 0, 2)
    chosen = np.where(m < 0, b, a)
    assert np.array_equal(rows[0], chosen) and np.array_equal(rows[1], chosen)
    assert np.array_equal(rows[2], a & ~m | b & m)
    signs = m < 0
    assert np.array_equal(rows[3][:, 0], signs.any(1)) and np.array_equal(
        rows[3][:, 1], signs.all(1)
    )
    assert np.array_equal(rows[3][:, 2], np.where(m[:, 0] != 0, b[:, 0], a[:, 0]))
    assert np.array_equal(rows[3][:, 3], signs[:, :3].any(1))
    assert np.array_equal(rows[4], m & 255)
    low, high = a.astype(np.int64) << 40 >> 40, b.astype(np.int64) << 40 >> 40
    assert np.array_equal(rows[5][:, 0], m[:, 0] << 16 | m[:, 1] & 0xFFFF)
    assert np.array_equal(rows[5][:, 1], (low * high)[:, 2].astype(np.int32))
    assert np.array_equal(rows[5][:, 2], ((low * high)[:, 1] + m[:, 1]).astype(np.int32))
    assert np.array_equal(rows[5][:, 3], np.where(m[:, 0] & 255, 2, 1))
    wide = a[:, 0].astype(np.uint32).astype(np.uint64) << np.uint64(32)
    assert np.array_equal(found[4], wide | b[:, 0].astype(np.uint32).astype(np.uint64))


def test_shuffles(compiled: CodeObject) -> None:
    a, b = (integers(seed, np.uint32, 4 * ITEMS).reshape(ITEMS, 4) for seed in (14, 15))
    out, octets = np.zeros((ITEMS, 2, 4), np.uint32), np.zeros((ITEMS, 8), np.uint8)
    found = run(compiled, "shuffles", a, b, out, octets)
    assert np.array_equal(found[2][:, 0], np.take_along_axis(a, b.astype(np.int64) & 3, 1))
    both = np.concatenate([a, b[:, ::-1]], 1)
    assert np.array_equal(found[2][:, 1], np.take_along_axis(both, b.astype(np.int64) & 7, 1))
    narrow = np.concatenate([a[:, :1].copy().view(np.uint8), b[:, 1:2].copy().view(np.uint8)], 1)
    mask = a[:, 2:].copy().view(np.uint8).astype(np.int64) & 7
    assert np.array_equal(found[3], np.take_along_axis(narrow, mask, 1))


def test_geometry(compiled: CodeObject) -> None:
    a, b = np.random.default_rng(16).normal(size=(2, ITEMS, 4)).astype(np.float32)
    b[0] = 0
    found = run(
        compiled,
        "geometry",
        a,
        b,
        np.zeros((ITEMS, 4), np.float32),
        np.zeros((ITEMS, 2, 4), np.float32),
    )
    norm = np.linalg.norm
    right = [(a * b).sum(1), norm(a[:, :3], axis=1), norm((a - b)[:, :2], axis=1), norm(b, axis=1)]
    assert np.allclose(found[2].T, right, rtol=1e-5, atol=1e-5)
    assert np.allclose(found[3][:, 0, :3], np.cross(a[:, :3], b[:, :3]), rtol=1e-5, atol=1e-5)
    assert not found[3][:, 0, 3].any() and not found[3][0, 1].any()
    assert np.allclose(found[3][1:, 1], b[1:] / norm(b[1:], axis=1)[:, None], rtol=1e-5)


def test_halves(compiled: CodeObject) -> None:
    """Lengths do not overflow where squares do; an exponent may have more than 16 bits."""
    x = (np.random.default_rng(19).normal(size=ITEMS) * 30).astype(np.float16)
    x[:8] = 1, 0.5, -0.5, 255.5, -0.0001, 6e-8, 300, 290
    out, n = np.zeros((ITEMS, 12), np.float16), np.zeros((ITEMS, 6), np.int32)
    _, found, whole = run(compiled, "half_parts", x, out, n)
    y = x.reshape(-1, 2)[:, ::-1].reshape(-1)
    a, b, k = x.astype(np.float64), y.astype(np.float64), np.arange(ITEMS)
    parts, exponents = np.frexp(x)
    with np.errstate(over="ignore", invalid="ignore"):
        thousands = (x * np.float16(1000)).astype(np.float64)
        expected = np.array([
            x * y + y, np.sqrt(2 * a * a + b * b + 4), np.sqrt(2 * (x - y).astype(float) ** 2 + 4),
            b / np.hypot(a, b), x * x - y * y, np.ldexp(a, k - 32), parts, x - np.floor(x),
            np.floor(x), np.copysign(x - np.trunc(x), x), np.trunc(x),
            np.copysign(np.where(k & 1, np.inf, 0), x),
        ]).astype(np.float16)  # fmt: skip
    expected[7] = np.minimum(expected[7], 1 - np.float16(2**-11))
    assert np.array_equal(found.T, expected, equal_nan=True)
    ends = np.array([
        exponents, np.clip(np.trunc(a), -128, 127), np.clip(np.rint(a), 0, 255), np.ceil(a),
        np.clip(np.floor(thousands), -32768, 32767), np.maximum(np.trunc(a), 0),
    ])  # fmt: skip
    assert np.array_equal(whole.T, ends)


def test_copies_of_groups(compiled: CodeObject) -> None:
    """Vectors of three have room for four; halves by three have not."""
    rows = integers(17, np.int16, 2 * 96 * 4).reshape(2, 96, 4)
    halves = np.random.default_rng(18).normal(size=(2 * ITEMS, 3)).astype(np.float16)
    found = run(
        compiled, "moved", rows, np.zeros_like(rows), halves, np.zeros_like(halves), items=2 * ITEMS
    )
    right = rows.copy()
    right[:, :32] += rows[:, ::3][:, ::-1]
    assert np.array_equal(found[1][..., :3], right[..., :3])
    assert np.array_equal(found[3], halves[:, ::-1])
