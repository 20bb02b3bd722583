"""Sizes of grids and groups as they are written."""

from __future__ import annotations

import pytest

from gpu.cli.common.grid_size import SizeError, read_size


@pytest.mark.parametrize(
    ("text", "size", "written"),
    [("1024", (1024, 1, 1), 1), ("64,32", (64, 32, 1), 2), ("16x16x4", (16, 16, 4), 3)],
)
def test_what_is_not_written_is_one(text: str, size: tuple[int, int, int], written: int) -> None:
    assert read_size(text, "grid", 4096) == (size, written)


@pytest.mark.parametrize("text", ["", "a", "1,2,3,4", "1,,2", "-1", "1.5", "4x 4", "9" * 21])
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(SizeError, match="is not X, X,Y or X,Y,Z"):
        read_size(text, "group", 1024)


@pytest.mark.parametrize("text", ["0", "1025", "1,0"])
def test_each_size_has_limits(text: str) -> None:
    with pytest.raises(SizeError, match=r"group '.*': \d+ is not 1 to 1024"):
        read_size(text, "group", 1024)
