"""The functions that take the place of device libraries, where a clang for AMDGPU is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpu import Device, LocalBytes, Signal
from gpu.code_object import CodeObject

SOURCE = Path(__file__).with_name("common_functions.cl")
ITEMS = 128
Array = npt.NDArray[Any]


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def compiled(
    request: pytest.FixtureRequest, compiled_with: Callable[[Path, str], CodeObject]
) -> CodeObject:
    return compiled_with(SOURCE, request.param)


def run(compiled: CodeObject, kernel: str, *arguments: Any) -> list[Array]:
    """Contents of the buffers afterwards."""
    device = Device(functional=True)
    queue = device.create_queue()
    values = [device.alloc(a) if isinstance(a, np.ndarray) else a for a in arguments]
    done = Signal(1)
    queue.dispatch(compiled[kernel], (ITEMS,), (64,), values, completion=done)
    queue.ring()
    device.run(until=done)
    buffers = [v for v, a in zip(values, arguments) if isinstance(a, np.ndarray)]
    return [buffer.numpy() for buffer in buffers]


def signed(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def short(value: int) -> int:
    """The lower 24 bits, as a signed number."""
    return (value + 2**23) % 2**24 - 2**23


def integers(x: int, y: int) -> list[int]:
    bits = x % 2**32
    return [
        min(x, y), max(x, 5), signed(abs(x)), signed(bits << 7 | bits >> 25),
        (y % 2**32).bit_count(), 32 - bits.bit_length(), signed(short(x) * short(y)),
        signed(short(x) * short(y) + 1), x * y >> 32, min(max(y, -9), 9), signed(abs(x - y)),
    ]  # fmt: skip


def test_integers(compiled: CodeObject) -> None:
    numbers = np.random.default_rng(1)
    x, y = numbers.integers(-(2**31), 2**31, (2, ITEMS)).astype(np.int32)
    x[:4], y[:4] = (0, -1, -(2**31), 2**31 - 1), (0, -(2**31), -(2**31), 1)
    found = run(compiled, "ints", x, y, np.zeros(11 * ITEMS, np.int32))[2].reshape(ITEMS, 11)
    assert found.tolist() == [integers(int(a), int(b)) for a, b in zip(x, y)]


def test_floats(compiled: CodeObject) -> None:
    x = (np.random.default_rng(2).normal(size=ITEMS) * 50).astype(np.float32)
    x[:3] = 0.0, -0.5, 1.0
    found = run(compiled, "floats", x, np.zeros(10 * ITEMS, np.float32), np.zeros(ITEMS))
    one = np.float32(1)
    expected = [
        np.minimum(x, one), np.maximum(x, 2 * one), np.abs(x), np.floor(x), np.sqrt(np.abs(x)),
        x * 2 + one, np.clip(x, -one, one), np.zeros_like(x), np.trunc(x),
    ]  # fmt: skip
    rows = found[1].reshape(ITEMS, 10)
    assert np.array_equal(rows[:, :9].T, np.array(expected))
    assert np.allclose(rows[:, 9], np.exp2(x.astype(np.float64) * 0.01), rtol=1e-6)
    wide = x.astype(np.float64)
    assert np.array_equal(found[2], np.floor(wide) + np.trunc(wide * 0.5))


def test_vectors(compiled: CodeObject) -> None:
    x = np.arange(4 * ITEMS, dtype=np.float32)
    pairs = np.arange(2 * ITEMS, dtype=np.int32) ** 2
    found = run(compiled, "vectors", x, np.zeros_like(x), pairs, np.zeros(ITEMS, np.int32))
    assert np.array_equal(found[1].reshape(-1, 4), 2 * x.reshape(-1, 4)[:, ::-1])
    assert np.array_equal(found[3], pairs[::2] - pairs[1::2])


def test_atomic_operations(compiled: CodeObject) -> None:
    octets = np.random.default_rng(3).integers(0, 256, ITEMS).astype(np.uint8)
    counts = run(compiled, "histogram", octets, np.zeros(256, np.uint32), LocalBytes(1024))[1]
    assert np.array_equal(counts, np.bincount(octets, minlength=256))
    p, q, r = run(
        compiled, "newer", np.array([0, 0, 3], np.int32), np.array([0, 5], np.uint32),
        np.zeros(ITEMS, np.int32),
    )  # fmt: skip
    assert p[0] == ITEMS * (ITEMS - 1) // 2 and p[1] == 7 and 0 <= p[2] < ITEMS
    assert q.tolist() == [0xFFFF_FFFF, 5]
    assert sorted(r.tolist()) == [5] * (ITEMS - 1) + [6]


def test_old_exchange(compiled: CodeObject) -> None:
    device = Device(functional=True)
    queue = device.create_queue()
    words, done = device.alloc(np.zeros(2, np.int32)), Signal(1)
    queue.dispatch(compiled["exchange"], (3,), (1,), [words], completion=done)
    queue.ring()
    device.run(until=done)
    assert words.numpy().tolist() == [3, 2]


TYPES: dict[str, Any] = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
    "uint": np.uint32, "long": np.int64, "ulong": np.uint64,
}  # fmt: skip


def _of_width(x: int, y: int, low: int, high: int, bits: int) -> list[int]:
    def clipped(value: int) -> int:
        return min(max(value, low), high)

    def wrapped(value: int) -> int:
        return (value - low) % (1 << bits) + low

    upper, ones = x * y >> bits, x % 2**bits
    return [
        clipped(x + y), clipped(x - y), upper, wrapped(upper + x), x + y >> 1, x + y + 1 >> 1,
        (ones & -ones).bit_length() - 1 if ones else bits, bits - (y % 2**bits).bit_length(),
    ]  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_integers_of_every_width(compiled: CodeObject, name: str) -> None:
    """A function that is there for some widths only would take the others' arguments as its own."""
    ends = np.iinfo(TYPES[name])
    numbers = np.random.default_rng(4)
    x, y = numbers.integers(ends.min, ends.max, (2, ITEMS), TYPES[name], endpoint=True)
    edges = np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], TYPES[name])
    x[:36], y[:36] = np.repeat(edges, 6), np.tile(edges, 6)
    found = run(compiled, f"width_{name}", x, y, np.zeros(8 * ITEMS, TYPES[name]))[2]
    expected = [
        _of_width(int(a), int(b), int(ends.min), int(ends.max), ends.bits) for a, b in zip(x, y)
    ]
    assert found.reshape(ITEMS, 8).tolist() == expected


def test_other_kinds_of_numbers(compiled: CodeObject) -> None:
    """Roots of doubles are doubles; vectors of three; halves in memory; both group barriers."""
    numbers = np.random.default_rng(5)
    wide = numbers.random(ITEMS)
    octets = numbers.integers(0, 256, 3 * ITEMS).astype(np.uint8)
    halves = numbers.normal(size=ITEMS).astype(np.float16)
    found = run(compiled, "kinds", wide, octets, halves, np.zeros(ITEMS, np.uint32))
    assert np.array_equal(found[1].reshape(-1, 3), octets.reshape(-1, 3)[:, ::-1])
    assert np.array_equal(found[2], halves * np.float16(2))
    turned = np.arange(ITEMS).reshape(2, 64)[:, ::-1].reshape(-1)
    assert np.array_equal(found[3], turned)
    assert np.array_equal(found[0], np.sqrt(wide) + turned[np.arange(ITEMS) ^ 1])


def test_halves(compiled: CodeObject) -> None:
    """Everything is rounded once, to the nearest; the reciprocal root may be one off."""
    x, y = np.random.default_rng(6).normal(size=(2, ITEMS)).astype(np.float16)
    y[::7] = np.nan
    out, flags = np.zeros(8 * ITEMS, np.float16), np.zeros(2 * ITEMS, np.int32)
    found = run(compiled, "halves", x, y, out, flags)
    halves, flags = found[2].reshape(ITEMS, 8), found[3].reshape(ITEMS, 2)
    a, b, k = x.astype(np.float64), y.astype(np.float64), np.arange(ITEMS)
    pairs = x.reshape(-1, 2).repeat(2, 0)
    expected = np.array([
        a * b + a, np.sqrt(abs(a)), np.where(a < b, b, a), 3 * x.astype(np.float32),
        np.fmin(pairs[:, 0], y), np.fmin(pairs[:, 1], x), 1 / np.sqrt(abs(a)),
        np.where(k & 1, b, np.floor(a)),
    ]).astype(np.float16)  # fmt: skip
    close = abs(halves[:, 6] - expected[6]) <= np.spacing(expected[6])
    assert close.all()
    for place in (0, 1, 2, 3, 4, 5, 7):
        assert np.array_equal(halves[:, place], expected[place], equal_nan=True), place
    assert np.array_equal(flags[:, 0], np.trunc(a).astype(np.int32) + 100 * np.isnan(b))
    assert np.array_equal(flags[:, 1], (a < b) + 2 * (a < 0))


def test_floats_are_exchanged_atomically(compiled: CodeObject) -> None:
    first, second = np.arange(ITEMS, dtype=np.float32), np.ones(ITEMS, np.float32)
    found = run(compiled, "swapped", first, second, np.zeros(4 * ITEMS, np.float32))
    old = found[2].reshape(ITEMS, 4)
    assert np.array_equal(found[0], np.full(ITEMS, 2.5)) and np.array_equal(old[:, 0], first)
    assert np.array_equal(found[1], np.full(ITEMS, 4.5)) and np.array_equal(old[:, 1], second)
    assert old[[0, 64], 2:].tolist() == [[1, 4.5], [1, 4.5]]


def test_locks_of_every_kind(compiled: CodeObject) -> None:
    device = Device(functional=True, cus=2)
    queue = device.create_queue()
    flag, word = (device.alloc(np.zeros(1, np.int32)) for _ in range(2))
    wide, counts = device.alloc(np.zeros(2, np.uint64)), device.alloc(np.zeros(3, np.uint32))
    queue.dispatch(compiled["locked"], 40, 1, [flag, word, wide, counts])
    queue.ring()
    device.run()
    assert counts.numpy().tolist() == [40, 80, 120]
    assert (flag.numpy()[0], word.numpy()[0], wide.numpy().tolist()) == (0, 0, [0, 39 << 33])
