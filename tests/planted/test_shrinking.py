"""Bars of shrinking, over planted bugs; `tests.planted.shrinking` prints the table.

Opt-in: an eighth of the catalogue with ``python -m pytest -m planted tests/planted``, all of it
with ``-m slow``. Times are not judged: machines differ.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Final

import pytest

from tests.planted.bugs import BUGS
from tests.planted.shrinking import rows, share, summary

MEDIAN: Final = 3
NINE_OF_TEN: Final = 6
MOST: Final = 12
"""Accesses."""
FEW_CACHES: Final = 0.8
"""Of results have at most two first-level caches."""
BLAMED: Final = 0.7
FIRST: Final = 0.5
"""Of those in which a transition was changed: it is blamed, and as the first."""


@pytest.mark.parametrize(
    "step",
    [pytest.param(8, marks=pytest.mark.planted), pytest.param(1, marks=pytest.mark.slow)],
    ids=["an eighth", "all"],
)
def test_planted_bugs_are_brought_down_to_a_few_accesses(step: int, tmp_path: Path) -> None:
    found = list(rows(BUGS[::step]))
    assert len(found) > 100 // step
    table = "\n".join([*map(str, found), *summary(found)])
    assert not any(row.wrong or row.shrunk.cut for row in found), table
    accesses = sorted(row.shrunk.after.accesses for row in found)
    assert accesses[-1] <= MOST, table
    if step > 1:  # shares of a few say little
        return
    assert median(accesses) <= MEDIAN, table
    assert accesses[9 * (len(accesses) - 1) // 10] <= NINE_OF_TEN, table
    assert median(row.shrunk.after.threads for row in found) <= 2, table
    assert median(row.shrunk.after.lines for row in found) <= 1, table
    assert sum(row.caches <= 2 for row in found) >= FEW_CACHES * len(found), table
    ranks = [row.rank for row in found if row.rank is not None]
    assert share(ranks, 99) >= BLAMED, table
    assert share(ranks, 1) >= FIRST, table
