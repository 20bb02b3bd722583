"""The cost of findings is proportional to the text, for any number and position of findings.

Work is counted (calls made, characters cut out), never timed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from slicc.check import recursion
from slicc.compiler import compile_text
from slicc.diagnostics import model
from slicc.diagnostics.model import PLACES_SHOWN, SHOWN_PER_FILE, DiagnosticSink, Label, LeftOut
from slicc.diagnostics.render_json import render_json
from slicc.diagnostics.render_text import LINE_WIDTH, MESSAGE_WIDTH, render_text
from slicc.parser import lexical_errors, recovery
from slicc.parser.lexical_errors import clean
from slicc.parser.limits import OVERLOADS
from slicc.parser.older_tokens import listed_files
from slicc.resolve.declarations import ports
from slicc.resolve.scope import pairs
from slicc.source import SourceFile, Span
from slicc.text.suggest import LONGEST, MOST_COMPARED, suggest
from tests.sampling import sampled
from tests.slicc.pathological import SHAPES


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, those of C included."""
    count = 0

    def entered(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(entered)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def report(text: str) -> str:
    """Everything that is printed about a text, for people and for programs."""
    sink = DiagnosticSink()
    compile_text(text, sink)
    found, left_out = sink.in_source_order(), sink.left_out()
    return render_text(found, left_out) + render_json(found, left_out)


@pytest.mark.parametrize("shape", sampled(SHAPES, 12))
def test_work_grows_no_faster_than_the_text(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (model, lexical_errors, recovery, recursion, ports):
        monkeypatch.setattr(module, "SHOWN_PER_FILE", 10)  # far below the counts
    report(SHAPES[shape](1))  # whatever is made once
    counts = []
    for count in (80, 160, 320):
        monkeypatch.setattr(pairs, "_innocent", set())  # what the one before has seen
        counts.append(calls(partial(report, SHAPES[shape](count))))
    small, middle, large = counts
    # Twice as much is added by twice as many; four times as much if every pair were looked at.
    assert large - middle <= 2.2 * (middle - small) + 1000


@pytest.mark.parametrize("shape", sampled(SHAPES, 6))
def test_what_is_printed_does_not_grow(shape: str) -> None:
    assert len(report(SHAPES[shape](1000))) < 250_000


# ------------------------------------------------------------------ what is shown of a file


def many(number: int) -> DiagnosticSink:
    source = SourceFile("many.sm", "x\n" * number)
    sink = DiagnosticSink()
    for place in reversed(range(number)):
        sink.error("unknown-variable", f"number {place}", Span(source, 2 * place, 2 * place + 1))
    sink.warning("unused-action", "a warning", Span(source, 0, 1))
    sink.error("syntax-error", "elsewhere", Span(SourceFile("one.sm", "y"), 0, 1))
    return sink


def test_the_first_findings_of_a_file_are_shown_and_the_others_counted() -> None:
    sink = many(SHOWN_PER_FILE + 7)
    shown = [one.headline for one in sink.in_source_order() if one.slug == "unknown-variable"]
    assert shown == [f"number {place}" for place in range(7, SHOWN_PER_FILE + 7)]
    assert len(sink.in_source_order()) == SHOWN_PER_FILE + 2
    assert sink.left_out() == [LeftOut("many.sm", 7, 0)]
    assert sink.error_count == SHOWN_PER_FILE + 8
    text = render_text(sink.in_source_order(), sink.left_out())
    assert text.endswith(f"\nand 7 more errors in many.sm; the first {SHOWN_PER_FILE} are shown\n")
    document = json.loads(render_json(sink.in_source_order(), sink.left_out()))
    assert document["errors"] == SHOWN_PER_FILE + 8
    assert document["left_out"] == [{"file": "many.sm", "errors": 7, "warnings": 0}]


def test_a_file_with_just_as_many_is_shown_whole() -> None:
    assert many(SHOWN_PER_FILE).left_out() == []


def test_what_is_taken_back_is_not_counted() -> None:
    sink = many(SHOWN_PER_FILE)
    source = SourceFile("many.sm", "x" * 9)
    position = len(sink.diagnostics)
    for _ in range(2):
        for place in range(9):
            sink.error("unknown-type", "again", Span(source, place, place + 1), help=lambda: None)
        assert sink.left_out() == [LeftOut("many.sm", 9, 0)]
        sink.take_back(position)
    assert sink.left_out() == []


def test_help_is_looked_for_only_where_it_is_shown() -> None:
    sink = many(SHOWN_PER_FILE - 1)
    asked = []
    source = SourceFile("many.sm", "x" * 9)
    for place in range(9):
        span = Span(source, place, place + 1)
        for _ in range(2):
            sink.error("unknown-type", "T", span, help=lambda: asked.append(1) or "do")
    assert len(asked) == 1
    assert [one.help for one in sink.diagnostics if one.slug == "unknown-type"][:2] == ["do", None]


def test_a_finding_has_so_many_places() -> None:
    source = SourceFile("a.sm", "x" * 99)
    sink = DiagnosticSink()
    places = (Label(Span(source, place, place + 1)) for place in range(99))
    sink.error("duplicate-action", "all over", Span(source, 0, 1), secondary=places)
    assert len(sink.diagnostics[0].secondary) == PLACES_SHOWN


# ------------------------------------------------------------------ long lines


class Watched(str):
    """A text that counts what is cut out of it."""

    cut = 0

    def __getitem__(self, key: Any) -> str:
        part = super().__getitem__(key)
        type(self).cut += len(part)
        return part


def test_only_the_surroundings_of_a_label_are_looked_at() -> None:
    source = SourceFile("long.sm", Watched("name + " * 200_000))
    sink = DiagnosticSink()
    for place in range(0, len(source.text), 70_000):
        sink.error("unknown-variable", "here", Span(source, place, place + 4))
    Watched.cut = 0
    render_text(sink.diagnostics)
    assert 0 < Watched.cut <= len(sink.diagnostics) * 10 * LINE_WIDTH


@pytest.mark.parametrize("before", ["name + ", "\tx", "漢 ", "漢 +", "e\u0301 + ", "\t漢e\u0301"])
@pytest.mark.parametrize("times", [0, 1, 30, 5000])
def test_the_caret_is_below_its_word(before: str, times: int) -> None:
    source = SourceFile("long.sm", f"{before * times}needle{before * times};\nnext")
    start = source.text.index("needle")
    sink = DiagnosticSink()
    sink.error("unknown-variable", "it", Span(source, start, start + 6))
    line, marks = render_text(sink.diagnostics).splitlines()[3:5]
    column = line.index("needle") - line.count("\u0301", 0, line.index("needle"))
    wide = line.count("漢", 0, line.index("needle"))
    assert marks.index("^^^^^^") == column + wide
    assert len(line) <= 2 * LINE_WIDTH + 20
    assert ("…" in line) == (times >= 30)


def test_distant_labels_of_one_line_are_shown_apart() -> None:
    text = "first" + " " * 5000 + "second third" + " " * 5000 + ";"
    source = SourceFile("long.sm", text)
    labels = {word: Span(source, text.index(word), text.index(word) + 5) for word in text.split()}
    sink = DiagnosticSink()
    secondary = [Label(labels["first"], "one"), Label(labels["second"], "two")]
    sink.error("duplicate-action", "x", labels["third"], "three", secondary=secondary)
    lines = render_text(sink.diagnostics).splitlines()[3:]
    assert [line.split()[-1].strip("…") for line in lines] == [
        "first",
        "one",
        "third",
        "two",
        "three",
    ]
    for word, label in (("first", lines[1]), ("second", lines[3]), ("third", lines[4])):
        above = lines[0] if word == "first" else lines[2]
        assert above.index(word) == min(label.index(mark) for mark in "^-" if mark in label)


def test_messages_are_not_endless() -> None:
    sink = DiagnosticSink()
    sink.error("syntax-error", "x" * 10**6, Span(SourceFile("a.sm", "a"), 0, 1), help="y" * 10**6)
    assert len(render_text(sink.diagnostics)) < 3 * MESSAGE_WIDTH


# ------------------------------------------------------------------ single limits


def test_a_word_is_compared_with_so_many() -> None:
    names = [f"name_{number:04}" for number in range(MOST_COMPARED)]
    assert suggest("nmae_0007", names) == "name_0007"
    assert suggest("nmae_0007", [*names, "name_xxxx"]) is None
    assert suggest("nmae_0007", [*names, "another_of_quite_another_length"]) == "name_0007"
    assert suggest("x" * LONGEST, ["x" * LONGEST + "y"]) is not None
    assert suggest("x" * (LONGEST + 1), ["x" * LONGEST]) is None


def test_long_names_are_refused() -> None:
    for count, slugs in ((200, {"no-machine"}), (201, {"name-too-long"})):
        sink = DiagnosticSink()
        compile_text(f"enumeration({'x' * count}) {{ A; }}", sink)
        assert {one.slug for one in sink.diagnostics} == slugs


def test_a_name_has_so_many_overloads() -> None:
    sink = DiagnosticSink()
    compile_text(SHAPES["overloads of one name"](OVERLOADS + 2), sink)
    found = [one.headline for one in sink.diagnostics if one.slug == "too-many-overloads"]
    assert found == ["machine `L1Cache` defines `f` more than 50 times"] * 2


@pytest.mark.parametrize("text", ["a.sm" + ".sm" * 5000 + "!", "/* */" * 5000 + "!", "a " * 5000])
def test_a_list_of_files_is_read_once(text: str) -> None:
    """With alternatives that could be tried again, these would take exponential time."""
    assert listed_files(SourceFile("a.slicc", text)) is None


def test_the_end_of_a_string_is_sought_once() -> None:
    """Looked for again from every blank, this would take half an hour."""
    text = '"x)' + " " * 300_000 + "x"
    assert len(clean(SourceFile("a.sm", text), DiagnosticSink()).text) == len(text)
