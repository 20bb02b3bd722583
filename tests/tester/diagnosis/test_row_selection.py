"""Which rows of a history a report shows."""

from __future__ import annotations

from tester.diagnosis.history import Row
from tester.diagnosis.row_selection import choose, gaps


def rows(count: int, touched: tuple[int, ...] = ()) -> list[Row]:
    """One row a tick."""
    return [Row(tick, "A", "b", "c", touched=tick in touched) for tick in range(count)]


def test_what_fits_is_shown_whole() -> None:
    assert choose(rows(30), 30, []) == list(range(30))
    assert gaps(range(30)) == [0] * 30


def test_the_end_is_always_there_and_the_limit_is_kept() -> None:
    for limit in (1, 5, 24, 40, 64):
        chosen = choose(rows(500, touched=(3, 250)), limit, [(0, 90), (100, 400)])
        assert len(chosen) == limit
        assert chosen == sorted(set(chosen))
        assert chosen[-min(limit, 24) :] == list(range(500 - min(limit, 24), 500))


def test_the_beginning_of_a_span_comes_before_what_stands_between() -> None:
    chosen = choose(rows(500), 64, [(100, 300)])
    assert set(range(100, 120)) <= set(chosen)
    assert 300 not in chosen
    assert choose(rows(500), 64, [(100, 103)])[:4] == [100, 101, 102, 103]


def test_rows_that_touch_the_bytes_come_before_others() -> None:
    chosen = choose(rows(500, touched=(7, 200)), 64, [])
    assert chosen[:2] == [7, 200]
    assert chosen[2:] == list(range(500 - 62, 500))


def test_gaps_say_how_much_is_left_out() -> None:
    assert gaps([2, 3, 7]) == [2, 0, 3]
    assert gaps([]) == []
