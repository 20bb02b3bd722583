"""Text to scenario.

The text may come from anyone: its size and its depth are bounded before they are used, its numbers
by `slicc.scenario_text.tree_builder`. Invariant: `read_scenario` and `parse_scenario` return a
scenario whose names are all defined, or raise ScenarioError.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.lexer import PatternStr

from runtime.files import read_bounded
from slicc.scenario_text import syntax
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.name_checks import check_names
from slicc.scenario_text.tree_builder import TreeBuilder
from slicc.source import SourceFile, Span
from slicc.text.kept.grammar_tables import load_grammar
from slicc.text.suggest import suggest

MAX_TEXT_BYTES: Final = 1 << 20
_OPTIONS: Final = {"start": "file", "parser": "lalr", "propagate_positions": True}
_DEEPEST: Final = 100
"""Brackets and negations of one line."""
_NESTING: Final = re.compile(r"[(\[{~]|\bnot\b")


def read_scenario(path: str | Path) -> syntax.Scenario:
    """The scenario in a file. Raises ScenarioError, and OSError if it cannot be read."""
    content = read_bounded(path, MAX_TEXT_BYTES + 1)
    name = str(path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        nothing = Span(SourceFile(name, ""), 0, 0)
        raise ScenarioError("syntax", "the file is no UTF-8 text", nothing) from None
    return parse_scenario(SourceFile(name, text))


def parse_scenario(source: SourceFile) -> syntax.Scenario:
    """The scenario in a text. Raises ScenarioError."""
    _check_size(source)
    try:
        tree = _grammar().parse(source.text)
    except UnexpectedInput as error:
        raise _syntax_error(source, error) from None
    try:
        scenario: syntax.Scenario = TreeBuilder(source).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, ScenarioError):
            raise error.orig_exc from None
        raise
    check_names(scenario)
    if next(scenario.steps(), None) is None:
        raise ScenarioError("syntax", "no operation stands below the threads", scenario.span)
    return scenario


@cache
def _grammar() -> Lark:
    text = files("slicc.scenario_text").joinpath("grammar.lark").read_text()
    return load_grammar(text, _OPTIONS)


def _check_size(source: SourceFile) -> None:
    if len(source.text) > MAX_TEXT_BYTES:
        raise ScenarioError(
            "too-large",
            f"the text is larger than {MAX_TEXT_BYTES:,} bytes",
            Span(source, 0, 0),
        )
    for line in range(1, source.line_count + 1):
        start, _ = source.line_bounds(line)
        nested = list(_NESTING.finditer(source.line_text(line)))
        if len(nested) > _DEEPEST:
            place = Span(source, start + nested[_DEEPEST].start(), start + nested[_DEEPEST].end())
            raise ScenarioError("too-large", f"more than {_DEEPEST} brackets in a line", place)


# ---------------------------------------------------------------- mistakes of syntax

_KINDS: Final = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "_NEWLINE": "the end of the line",
    "$END": "the end of the file",
}
_WORDS: Final = (
    *("load", "store", "atomic", "add", "after", "acquire", "release", "flush", "fence", "begin"),
    *("end", "racing", "exists", "forbidden", "forall", "scenario", "protocol", "keys", "delays"),
    *("limit", "set", "relaxed", "acq_rel", "seq_cst"),
    *("work-item", "wavefront", "work-group", "agent", "system"),
)


def _syntax_error(source: SourceFile, error: UnexpectedInput) -> ScenarioError:
    if isinstance(error, UnexpectedCharacters):
        place = error.pos_in_stream or 0
        span = Span(source, place, place + 1)
        return ScenarioError("syntax", f"`{span.text}` means nothing here", span)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    start = len(source.text) if token.type == "$END" else int(token.start_pos or 0)
    end = start if token.type in ("$END", "_NEWLINE") else start + len(token)
    found = _KINDS.get(token.type) if token.type in ("_NEWLINE", "$END") else f"`{token}`"
    expected = _expected(error.accepts or error.expected)
    near = suggest(str(token), _WORDS) if token.type == "NAME" else None
    return ScenarioError(
        "syntax",
        f"{found} stands where {expected} should",
        Span(source, start, end),
        help=f"did you mean `{near}`?" if near else None,
    )


def _expected(terminals: Iterable[str]) -> str:
    """``a name or a number``; long lists are not helpful."""
    names = sorted({_named(terminal) for terminal in terminals})
    if "`work-group`" in names and "`acquire`" not in names:
        return "a scope"
    if len(names) > 6:
        operations = "`load`" in names and "`store`" in names
        return "an operation" if operations else "something else"
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _named(terminal: str) -> str:
    if terminal in _KINDS:
        return _KINDS[terminal]
    pattern = next(t.pattern for t in _grammar().terminals if t.name == terminal)
    return f"`{pattern.value}`" if isinstance(pattern, PatternStr) else terminal.lower()
