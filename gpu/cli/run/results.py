"""Buffers after a run: shown in a line, compared with what is expected, written to files."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpu.cli.run.argument_parser import TYPES, ArgumentTextError, fill
from slicc.text.files import write_whole

Values = npt.NDArray[Any]

_NAMES = {dtype: name for name, dtype in TYPES.items()}


def shown(values: Values) -> str:
    """Type, shape, and the ends of the elements, on one line."""
    shape = ",".join(str(size) for size in values.shape)
    with np.printoptions(threshold=12, edgeitems=5, linewidth=10_000, precision=6):
        text = str(values.reshape(-1))
    return f"{_NAMES[values.dtype]}[{shape}] {text}"


def numbered(text: str, count: int, option: str) -> tuple[int, str]:
    """``2=iota``: argument number and the rest. Raises `ArgumentTextError`."""
    number, equals, rest = text.partition("=")
    if not equals or not re.fullmatch("[0-9]{1,9}", number) or not rest:
        raise ArgumentTextError(f"{option} {text!r} is not N=..., N the number of an argument")
    if int(number) >= count:
        raise ArgumentTextError(f"{option} {text!r}: there are {count} arguments, from 0 on")
    return int(number), rest


def expected_values(like: Values, text: str, option: str) -> Values:
    """What an initialiser means for a buffer of that type and size."""
    try:
        return fill(like.dtype, like.size, text)
    except ArgumentTextError as error:
        raise ArgumentTextError(f"{option}: {error}") from None


def difference(found: Values, expected: Values, tolerance: float) -> str | None:
    """How many elements differ, and the first of them; NaNs are alike. An infinity is near nothing:
    ``tolerance`` is for numbers, relative to the expected ones."""
    found, expected = found.reshape(-1), expected.reshape(-1)
    same = found == expected
    if found.dtype.kind == "f":
        same |= np.isnan(found) & np.isnan(expected)
        if tolerance:
            wide, right = found.astype(np.float64), expected.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(wide - right) <= tolerance * np.abs(right)
            same |= near & np.isfinite(wide) & np.isfinite(right)
    wrong = np.flatnonzero(~same)
    if not len(wrong):
        return None
    first = int(wrong[0])
    return (
        f"{len(wrong)} of {len(found)} elements differ, first [{first}]: {found[first]} instead "
        f"of {expected[first]}"
    )


def write(values: Values, path: Path) -> None:
    """As a numpy file. Raises OSError."""
    file = BytesIO()
    np.save(file, values)
    write_whole(path, file.getvalue())
