"""Invariants of an author, from a command line or from a file beside the protocol.

An invariant says, of every line, what the states, fields and permissions of all controllers may be.
The text may come from anyone, so its size and depth are bounded.
Invariant: a mistake is shown at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from protocols.loader import LoadedProtocol
from slicc.source import SourceFile, Span
from slicc.text.kept.grammar_tables import load_grammar
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from tester.errors import ConfigError
from tester.exploration.invariants.vocabulary import Vocabulary, vocabulary
from tester.exploration.invariants.words import MOST_INVARIANTS, InvariantError, Writer

SUFFIX: Final = ".invariants"
_OPTIONS: Final = {"parser": "lalr", "lexer": "basic", "maybe_placeholders": True}
_LONGEST: Final = 1000
_DEEPEST: Final = 16
"""Brackets, negations and implications: each leaves at most two values on the stack, which has room
for `DEPTH`, and what stands between them at most five."""
_WORDS: Final = (
    *("count", "sum", "size", "some", "no", "all", "in", "is", "of", "where", "within"),
    *("and", "or", "not", "implies"),
)


@dataclass(frozen=True, slots=True)
class Invariant:
    """``words``: for the native search."""

    text: str
    words: tuple[int, ...]


def read_invariants(
    protocol: LoadedProtocol, driver: Path, given: Iterable[str]
) -> tuple[Invariant, ...]:
    """Those that are given, and those of the file beside the protocol's driver: one in each line.
    Raises ConfigError."""
    found = [parse_invariant(protocol, text) for text in given]
    beside = driver.with_suffix(SUFFIX)
    if beside.is_file():
        found += _file(vocabulary(protocol), beside)
    if len(found) > MOST_INVARIANTS:
        raise ConfigError(
            f"{len(found)} invariants, of at most {MOST_INVARIANTS} that can be judged"
        )
    return tuple(found)


def parse_invariant(protocol: LoadedProtocol, text: str) -> Invariant:
    """One invariant. Raises InvariantError."""
    return _parsed(vocabulary(protocol), SourceFile("--invariant", text), 0, len(text))


def _file(known: Vocabulary, path: Path) -> list[Invariant]:
    if path.stat().st_size > _LONGEST * MOST_INVARIANTS * 2:
        raise ConfigError(f"{path}: larger than {_LONGEST * MOST_INVARIANTS * 2} bytes")
    try:
        source = SourceFile(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    lines = [source.line_bounds(number) for number in range(1, source.line_count + 1)]
    return [_parsed(known, source, *line) for line in lines if source.text[slice(*line)].strip()]


@cache
def _grammar() -> Lark:
    text = files("tester.exploration.invariants").joinpath("grammar.lark").read_text()
    return load_grammar(text, _OPTIONS)


def _parsed(known: Vocabulary, source: SourceFile, start: int, end: int) -> Invariant:
    text = source.text[start:end]
    if len(text) > _LONGEST or len(re.findall(r"\(|\bnot\b|\bimplies\b", text)) > _DEEPEST:
        message = f"longer than {_LONGEST} characters, or deeper than {_DEEPEST}"
        raise InvariantError("too-large", message, Span(source, start, start + 1))
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(source, start, end, error) from None
    writer = Writer(known, source, start)
    writer.write(tree)
    return Invariant(text.strip(), tuple(writer.words))


def _syntax_error(
    source: SourceFile, start: int, end: int, error: UnexpectedInput
) -> InvariantError:
    if isinstance(error, UnexpectedCharacters):
        place = start + (error.pos_in_stream or 0)
        span = Span(source, place, place + 1)
        return InvariantError("syntax", f"`{span.text}` means nothing here", span)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    if token.type == "$END":
        return InvariantError("syntax", "the invariant ends too early", Span(source, end, end))
    first = start + int(token.start_pos or 0)
    near = suggest(str(token), _WORDS)
    return InvariantError(
        "syntax",
        f"`{token}` cannot stand here",
        Span(source, first, first + len(token)),
        help=f"did you mean `{near}`?" if near else None,
    )
