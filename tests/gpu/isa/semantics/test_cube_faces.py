"""Cube maps: six faces, ties between axes, and coordinates that lead back to the direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.values import run

KEEPING = FloatMode(0x3F0)
COVERED = {f"v_cube{name}_f32" for name in ("id", "sc", "tc", "ma")}


def cube(*direction: float) -> list[float]:
    """Face, the two coordinates on it, and twice the largest of the direction."""
    arrays = [np.array([value], np.float32) for value in direction]
    return [
        float(run(f"v_cube{name}_f32", *arrays, mode=KEEPING)[0])
        for name in ("id", "sc", "tc", "ma")
    ]


@pytest.mark.parametrize(
    ("direction", "wanted"),
    [
        ((3, 1, 2), [0, -2, -1, 6]),
        ((-3, 1, 2), [1, 2, -1, -6]),
        ((1, 3, 2), [2, 1, 2, 6]),
        ((1, -3, 2), [3, 1, -2, -6]),
        ((1, 2, 3), [4, 1, -2, 6]),
        ((1, 2, -3), [5, -1, -2, -6]),
        ((2, -2, 2), [4, 2, 2, 4]),
        ((-2, -2, 1), [3, -2, -1, -4]),
        ((0, 0, 0), [4, 0, 0, 0]),
        ((1, float("nan"), 0), [0, 0, float("nan"), 2]),
    ],
)
def test_a_direction(direction: Any, wanted: list[float]) -> None:
    assert np.array_equal(cube(*direction), wanted, equal_nan=True)


def test_random_directions_are_on_the_face_that_is_named() -> None:
    """The axes of the faces, as the sides of a cube seen from its middle."""
    sides = np.array([
        [(0, 0, -1), (0, -1, 0), (1, 0, 0)], [(0, 0, 1), (0, -1, 0), (-1, 0, 0)],
        [(1, 0, 0), (0, 0, 1), (0, 1, 0)], [(1, 0, 0), (0, 0, -1), (0, -1, 0)],
        [(1, 0, 0), (0, -1, 0), (0, 0, 1)], [(-1, 0, 0), (0, -1, 0), (0, 0, -1)],
    ])  # fmt: skip
    directions = np.random.default_rng(1).normal(size=(3, 500)).astype(np.float32)
    face, across, down, largest = (
        run(f"v_cube{name}_f32", *directions, mode=KEEPING) for name in ("id", "sc", "tc", "ma")
    )
    axes = sides[face.astype(int)]
    assert set(face.tolist()) == set(range(6))
    for row, found in enumerate((across, down)):
        assert np.array_equal(found, (axes[:, row] * directions.T).sum(1))
    assert np.array_equal(abs(largest) / 2, (axes[:, 2] * directions.T).sum(1))
    assert np.array_equal(abs(largest), 2 * abs(directions).max(0))
