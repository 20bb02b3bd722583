"""Counts that are off by one: the place with which nothing goes wrong any more."""

from __future__ import annotations

from slicc import ir
from slicc.analysis import analyse
from slicc.compiler import compile_text
from slicc.diagnostics.model import Diagnostic
from tests.slicc.analysis.small_protocol import SMALL

SET = "tbe.parts := 2"
COMPARED = "known.parts == 1"


def miscounts(text: str) -> list[Diagnostic]:
    protocol = compile_text(text)
    assert isinstance(protocol, ir.Protocol)
    return [one for one in analyse(protocol, steps=600) if one.slug == "wrong-count"]


def test_all_places_of_which_one_is_wrong_are_labelled() -> None:
    for right, wrong in ((SET, "tbe.parts := 3"), (COMPARED, "known.parts == 2")):
        assert SMALL.count(right) == 1
        (found,) = miscounts(SMALL.replace(right, wrong))
        places = {(label.span.text, label.text) for label in (found.primary, *found.secondary)}
        value, by = (wrong[-1], "less" if wrong == "tbe.parts := 3" else "more")
        assert any(text == value and f"one {by}" in label for text, label in places), places


def test_a_count_that_would_hide_a_lost_message_is_not_at_fault() -> None:
    """With ``parts := 1`` nothing waits for the part that is not sent, but none is counted."""
    first = SMALL[SMALL.index("      enqueue(part_out") :]
    first = first[: first.index("      }\n") + len("      }\n")]
    lost = SMALL.replace(first, "", 1)
    assert miscounts(lost) == []
    assert miscounts(lost.replace(SET, "tbe.parts := 1")) == []


def test_what_a_failing_assertion_expects_is_not_corrected() -> None:
    wrong = SMALL.replace("tbe.parts := tbe.parts - 1;", "assert(tbe.parts == 1); tbe.parts := 1;")
    assert wrong != SMALL
    assert all(found.primary.span.text != "1" for found in miscounts(wrong))
