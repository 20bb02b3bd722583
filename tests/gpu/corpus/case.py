"""A case of the corpus: what is launched, on which buffers, and what they hold at the end.

An oracle never looks at the model: it is numpy, zlib or plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Buffers = Mapping[str, Array]
Check = Callable[[Buffers], str | None]
"""What is wrong with the buffers at the end; None if nothing is."""


@dataclass(frozen=True)
class Launch:
    """One dispatch. Strings among the arguments name buffers."""

    kernel: str
    grid: tuple[int, ...]
    group: tuple[int, ...]
    arguments: tuple[Any, ...]
    private: int | None = None
    """Bytes of private memory; None for what the kernel says."""


@dataclass(frozen=True)
class Case:
    """Launches one after the other, each seeing what those before it wrote.

    ``expected``: by buffer, what it holds at the end; ``with_denormals``: likewise, where the
    compiler keeps those of f32 and that makes a difference. ``tolerance``: by which floats may
    differ, relative to the expected; 0 for the very bits (NaNs are all alike). ``slack``: absolute.
    """

    name: str
    source: str
    buffers: dict[str, Array]
    launches: tuple[Launch, ...]
    expected: dict[str, Array] = field(default_factory=dict)
    check: Check | None = None
    tolerance: float = 0.0
    slack: float = 0.0
    with_denormals: dict[str, Array] = field(default_factory=dict)

    def complaint(self, buffers: Buffers, denormals: bool = False) -> str | None:
        """The first difference, as text. ``denormals``: whether those of f32 are kept."""
        right = self.expected | self.with_denormals if denormals else self.expected
        for name, expected in right.items():
            wrong = difference(buffers[name], expected, self.tolerance, self.slack)
            if wrong:
                return f"{self.name}: buffer {name}: {wrong}"
        wrong = self.check(buffers) if self.check else None
        return f"{self.name}: {wrong}" if wrong else None


def difference(found: Array, expected: Array, tolerance: float = 0, slack: float = 0) -> str | None:
    """Where two arrays differ."""
    found, expected = found.reshape(-1), expected.reshape(-1)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype} {found.shape} instead of {expected.dtype} {expected.shape}"
    same = found == expected
    if found.dtype.kind == "f":
        same |= np.isnan(found) & np.isnan(expected)
        with np.errstate(all="ignore"):
            distance = np.abs(found.astype(np.float64) - expected.astype(np.float64))
            same |= distance <= tolerance * np.abs(expected.astype(np.float64)) + slack
    wrong = np.flatnonzero(~same)
    if not len(wrong):
        return None
    first = int(wrong[0])
    return (
        f"{len(wrong)} of {len(found)} elements, first [{first}]: {found[first]!r} instead of "
        f"{expected[first]!r}"
    )


def one(
    source: str,
    kernel: str,
    grid: int | tuple[int, ...],
    group: int | tuple[int, ...],
    arguments: tuple[Any, ...],
    expected: dict[str, Array] | None = None,
    *,
    name: str = "",
    check: Check | None = None,
    tolerance: float = 0.0,
    slack: float = 0.0,
    private: int | None = None,
    **buffers: Array,
) -> Case:
    """A case of a single launch."""
    grid = (grid,) if isinstance(grid, int) else grid
    group = (group,) if isinstance(group, int) else group
    return Case(
        name or f"{source}.{kernel}",
        source,
        buffers,
        (Launch(kernel, grid, group, arguments, private),),
        expected or {},
        check,
        tolerance,
        slack,
    )
