"""What ``--expect`` and ``--verify`` say about buffers."""

from __future__ import annotations

import numpy as np

from gpu.cli.run.results import difference


def test_elements_are_compared_whatever_the_shape() -> None:
    square = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert difference(square, square.copy(), 0) is None
    wrong = square.copy()
    wrong[2, 1] = 50
    told = difference(wrong, square, 1e-6)
    assert told == "1 of 16 elements differ, first [9]: 50.0 instead of 9.0"
