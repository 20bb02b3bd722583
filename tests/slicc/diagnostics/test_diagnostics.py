"""The register of findings and their renderings."""

from __future__ import annotations

import json
import re
from pathlib import Path

from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.diagnostics.registry import AREAS, CODES
from slicc.diagnostics.render_json import render_json
from slicc.diagnostics.render_text import LINE_WIDTH, render_text
from slicc.parser.parser import parse
from slicc.source import BUILTIN, SourceFile, Span
from tests.conftest import Golden
from tests.slicc.case_runner import EXPECTATION

CASES = Path(__file__).parents[1] / "syntax_cases"


def span(file: SourceFile, text: str) -> Span:
    start = file.text.index(text)
    return Span(file, start, start + len(text))


# ------------------------------------------------------------------ the register


def test_every_slug_has_one_page() -> None:
    assert sum(len(codes) for codes in AREAS.values()) == len(CODES)
    for slug, code in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug)
        assert code.title and not code.title.endswith(".")
        for part in (code.what, code.why, code.example, code.instead):
            assert part.strip(), slug
        assert code.page.startswith(f"{slug}: {code.title}\n===")
        assert code.page.endswith("\n") and not code.page.endswith("\n\n")


def test_every_slug_that_is_used_has_a_page() -> None:
    package = Path(__file__).parents[3] / "slicc"
    used = set()
    for path in package.rglob("*.py"):
        if "codegen" in path.parts:  # backends report nothing
            continue
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r"(?:sink\.error|sink\.warning|_fail)\(\s*\"([a-z0-9-]+)\"", text))
    assert len(used) > 40
    assert used - CODES.keys() == set()


# ------------------------------------------------------------------ text


def test_rendered_syntax_errors(golden: Golden) -> None:
    sink = DiagnosticSink()
    for name in ("unclosed", "transitions", "strings", "heads", "semicolons"):
        text = (CASES / f"{name}.sm").read_text(encoding="utf-8")
        text = re.sub(r" *// error:.*", "", text) + "\n"
        parse(SourceFile(f"{name}.sm", text), sink)
    golden("syntax_errors", render_text(sink.diagnostics))


def odd_places() -> DiagnosticSink:
    """Findings whose places are hard to draw."""
    sink = DiagnosticSink()
    tabs = SourceFile("tabs.sm", "\tif (a)\tb;\n漢字 x é e\u0301 y\n")
    sink.error("missing-braces", "behind tabs", span(tabs, "b;"), "here")
    sink.error("unknown-variable", "behind wide characters", span(tabs, "y"), "here")
    sink.warning("unused-action", "several lines", span(tabs, "(a)\tb;\n漢字"), "all of it")
    long = SourceFile("long.sm", f"{'x + ' * 100}needle{' + y' * 100};\n")
    sink.error("unknown-variable", "far to the right", span(long, "needle"), "cut around me")
    two = SourceFile("one.sm", "transition(I, Load) { a; }\n" * 3 + "last")
    other = SourceFile("two.sm", "\n" * 99 + "action(a) { }\n")
    sink.error(
        "duplicate-action",
        "in two files",
        Span(two, 27, 37),
        "second",
        secondary=[
            Label(span(other, "action"), "first"),
            Label(Span(two, 0, 10), "third"),
            Label(Span(two, 38, 39), "same line"),
        ],
        notes=["one note", "another note"],
        help="do this",
    )
    sink.error("syntax-error", "at the end", Span(two, len(two.text), len(two.text)), "here")
    sink.error("missing-function", "nowhere", Span(BUILTIN, 0, 0), "no place")
    empty = SourceFile("empty.sm", "")
    sink.error("syntax-error", "in an empty file", Span(empty, 0, 0))
    return sink


def test_places_that_are_hard_to_draw(golden: Golden) -> None:
    golden("odd_places", render_text(odd_places().diagnostics))


def test_colors_change_nothing_but_colors() -> None:
    found = odd_places().diagnostics
    colored = render_text(found, color=True)
    assert "\x1b[1;31merror[" in colored and "\x1b[1;33mwarning[" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == render_text(found).splitlines()


def test_lines_stay_within_their_width() -> None:
    for line in render_text(odd_places().diagnostics).splitlines():
        assert len(line) <= LINE_WIDTH + 20


def test_protocols_cannot_steer_the_terminal() -> None:
    file = SourceFile("e\x1b]0;x\x07.sm", 'protocol "\x1b[2J\u202e\x9b31m";\n')
    sink = DiagnosticSink()
    sink.error(
        "invalid-protocol-name",
        f"`{file.text}` is bad",
        span(file, "\x1b[2J"),
        "\x1b",
        notes=["\x07"],
        help="\x08",
    )
    rendered = render_text(sink.diagnostics)
    assert not set("\x1b\x07\x08\x9b\u202e") & set(rendered)
    assert "\ufffd[2J" in rendered


# ------------------------------------------------------------------ JSON


def test_json_schema() -> None:
    document = json.loads(render_json(odd_places().diagnostics))
    assert (document["version"], document["errors"], document["warnings"]) == (1, 7, 1)
    entry = next(one for one in document["diagnostics"] if one["slug"] == "duplicate-action")
    assert entry == {
        "severity": "error",
        "slug": "duplicate-action",
        "headline": "in two files",
        "file": "one.sm",
        "line": 2,
        "column": 1,
        "end": {"line": 2, "column": 11},
        "label": "second",
        "labels": [
            {
                "text": text,
                "file": file,
                "line": line,
                "column": column,
                "end": {"line": line, "column": end},
            }
            for text, file, line, column, end in [
                ("first", "two.sm", 100, 1, 7),
                ("third", "one.sm", 1, 1, 11),
                ("same line", "one.sm", 2, 12, 13),
            ]
        ],
        "notes": ["one note", "another note"],
        "help": "do this",
    }


def test_json_of_nothing() -> None:
    document = json.loads(render_json([]))
    counts = {"version": 1, "errors": 0, "warnings": 0}
    assert document == {**counts, "diagnostics": [], "left_out": [], "error": None}


# ------------------------------------------------------------------ the case runner


def test_expectations_are_read_from_comments() -> None:
    line = "a; // error: [one-two] some `text`  // warning: [three]"
    assert [match.groups() for match in EXPECTATION.finditer(line)] == [
        ("error", "one-two", "some `text`"),
        ("warning", "three", ""),
    ]
