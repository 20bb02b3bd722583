"""Which of many parameters the suite runs; the others are opt-in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SLOW = pytest.mark.slow
MATRIX = pytest.mark.matrix


def sampled(
    values: Iterable[Any], step: int, mark: pytest.MarkDecorator = SLOW, ids: Iterable[str] = ()
) -> list[Any]:
    """Parameters of which every ``step``-th is in the suite and the others have the mark.

    A tuple is several parameters. ``ids``: what the parameters are called.
    """
    names = iter(ids)
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if number % step == 0 else mark,
            id=next(names, None),
        )
        for number, value in enumerate(values)
    ]
