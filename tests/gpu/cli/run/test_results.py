"""What ``--expect`` and ``--verify`` say about buffers."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.cli.run.results import difference


def test_elements_are_compared_whatever_the_shape() -> None:
    square = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert difference(square, square.copy(), 0) is None
    wrong = square.copy()
    wrong[2, 1] = 50
    told = difference(wrong, square, 1e-6)
    assert told == "1 of 16 elements differ, first [9]: 50.0 instead of 9.0"


@pytest.mark.parametrize("tolerance", [0, 1e-6, 1e300])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_an_infinity_is_near_nothing(kind: type, tolerance: float) -> None:
    """Not even a number whose tolerance is infinite is equal to it; -inf and NaN likewise."""
    odd = [np.inf, -np.inf, np.nan]
    found = np.array([*odd, 2, 2, 2, *odd, -np.inf, np.inf, np.nan], kind)
    expected = np.array([*odd, *odd, 2, 2, 2, np.inf, -np.inf, np.inf], kind)
    told = difference(found, expected, tolerance)
    assert told == "9 of 12 elements differ, first [3]: 2.0 instead of inf"


def test_a_tolerance_is_relative_to_what_is_expected() -> None:
    found, expected = np.array([101, -99, 0.0]), np.array([100, -100, 1e-300])
    assert difference(found, expected, 0.011) == (
        "1 of 3 elements differ, first [2]: 0.0 instead of 1e-300"
    )
