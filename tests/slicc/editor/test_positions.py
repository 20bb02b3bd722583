"""Places as editors count them, and places in changed texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slicc.editor.positions import Change, change, offset_of, place_of, utf8, utf16
from slicc.source import SourceFile

TEXTS = st.text(alphabet="ab\n\ré\U0001f600\u2028", max_size=40)


@given(TEXTS, st.integers(0, 45), st.sampled_from([utf8, utf16, len]))
def test_a_place_leads_back_to_its_character(text: str, offset: int, units: object) -> None:
    source = SourceFile("x", text)
    assert callable(units)
    line, column = place_of(source, offset, units)
    back = offset_of(source, line, column, units)
    wanted = min(offset, len(text))
    assert back == wanted or text[back:wanted].strip("\r\n") == "", "behind the end of a line"


def test_places_outside_of_the_text_are_its_ends() -> None:
    source = SourceFile("x", "ab\nc")
    assert [offset_of(source, *place) for place in ((-1, 5), (0, 99), (7, 0), (1, -3))] == [
        0,
        2,
        4,
        3,
    ]


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_what_stands_around_a_change_is_found_again(
    before: str, old: str, new: str, behind: str
) -> None:
    moved = change(before + old + behind, before + new + behind)
    assert moved.start >= len(before) or before[moved.start :] + old == before[moved.start :] + new
    for offset in range(len(before)):
        if offset < moved.start:
            assert moved.forward(offset) == offset
    for distance in range(len(behind)):
        end_old, end_new = len(before + old + behind), len(before + new + behind)
        if end_old - distance >= moved.old_end and end_old - distance > moved.start:
            assert moved.forward(end_old - distance) == end_new - distance


def test_a_place_in_the_change_is_its_end() -> None:
    moved = change("one two three", "one 2 three")
    assert moved == Change(4, 7, 5)
    assert moved.forward(5) == 5 and moved.backward(5) == 7
