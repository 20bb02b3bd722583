"""Grids and groups as they are written: ``1024``, ``64,64``, ``16x16x4``."""

from __future__ import annotations

import re

Size3 = tuple[int, int, int]


class SizeError(ValueError):
    """The text is no size."""


def read_size(text: str, what: str, most: int) -> tuple[Size3, int]:
    """Sizes, missing ones 1, and how many were written. Raises `SizeError`."""
    parts = re.split("[,x]", text)
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"[0-9]{1,20}", part) for part in parts):
        raise SizeError(f"{what} {text!r} is not X, X,Y or X,Y,Z")
    sizes = [int(part) for part in parts]
    for size in sizes:
        if not 1 <= size <= most:
            raise SizeError(f"{what} {text!r}: {size} is not 1 to {most}")
    x, y, z = (*sizes, 1, 1)[:3]
    return (x, y, z), len(sizes)
