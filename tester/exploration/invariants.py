"""Invariants of an author: text to what tester/native/cpp/exploration/invariants.hpp evaluates.

An invariant says, of every line, how many controllers of a machine may be in certain states, or in
states of certain permissions. The text may come from anyone, so its size and depth are bounded.
Invariant: every name in an invariant that was read is one of the protocol's; a mistake is shown at
its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from runtime.controller.protocol_info import ProtocolInfo
from runtime.types.enumerations import AccessPermission
from slicc.diagnostics.model import Diagnostic, Label, Severity
from slicc.diagnostics.render_text import render_one
from slicc.source import SourceFile, Span
from slicc.text.suggest import suggest
from tester.errors import ConfigError

MOST: Final = 16
SUFFIX: Final = ".invariants"
_LONGEST: Final = 1000
_DEEPEST: Final = 16
"""Brackets and negations, so that the stack of 32 values is never full."""
_STATE_WORDS: Final = 4
_NUMBER, _COUNT, _SIZE, _ADD, _EQUAL, _LESS, _AT_MOST, _AND, _OR, _NOT = range(10)
_WORDS: Final = ("count", "some", "no", "all", "in", "is", "and", "or", "not", "implies")


class InvariantError(ConfigError):
    """A text that is no invariant of the protocol. The message is a rendered diagnostic."""

    def __init__(self, slug: str, headline: str, span: Span, help: str | None = None) -> None:
        shown = Diagnostic(
            f"invariant-{slug}", Severity.ERROR, headline, Label(span, ""), (), help=help
        )
        super().__init__(render_one(shown).rstrip("\n"))


@dataclass(frozen=True, slots=True)
class Invariant:
    """``words``: for the native search."""

    text: str
    words: tuple[int, ...]


def read_invariants(
    info: ProtocolInfo, driver: Path, given: Iterable[str]
) -> tuple[Invariant, ...]:
    """Those that are given, and those of the file beside the protocol's driver: one in each line.
    Raises ConfigError."""
    found = [parse_invariant(info, text) for text in given]
    beside = driver.with_suffix(SUFFIX)
    if beside.is_file():
        found += _file(info, beside)
    if len(found) > MOST:
        raise ConfigError(f"{len(found)} invariants, of at most {MOST} that can be judged")
    return tuple(found)


def parse_invariant(info: ProtocolInfo, text: str) -> Invariant:
    """One invariant. Raises InvariantError."""
    return _parsed(info, SourceFile("--invariant", text), 0, len(text))


def _file(info: ProtocolInfo, path: Path) -> list[Invariant]:
    if path.stat().st_size > _LONGEST * MOST * 2:
        raise ConfigError(f"{path}: larger than {_LONGEST * MOST * 2} bytes")
    try:
        source = SourceFile(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    lines = [source.line_bounds(number) for number in range(1, source.line_count + 1)]
    return [_parsed(info, source, *line) for line in lines if source.text[slice(*line)].strip()]


@cache
def _grammar() -> Lark:
    text = files("tester.exploration").joinpath("invariants.lark").read_text()
    return Lark(text, parser="lalr", lexer="basic", propagate_positions=True)


def _parsed(info: ProtocolInfo, source: SourceFile, start: int, end: int) -> Invariant:
    text = source.text[start:end]
    if len(text) > _LONGEST or len(re.findall(r"\(|\bnot\b|\bimplies\b", text)) > _DEEPEST:
        message = f"longer than {_LONGEST} characters, or deeper than {_DEEPEST}"
        raise InvariantError("too-large", message, Span(source, start, start + 1))
    try:
        tree = _grammar().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(source, start, end, error) from None
    writer = _Writer(info, source, start)
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


class _Writer:
    """Words for a tree, operands before what they are for."""

    def __init__(self, info: ProtocolInfo, source: SourceFile, start: int) -> None:
        self._info = info
        self._source = source
        self._start = start
        self.words: list[int] = []

    def write(self, tree: Tree[Token]) -> None:
        parts = tree.children
        match tree.data:
            case "number":
                self.words += [_NUMBER, int(str(parts[0]))]
            case "count":
                self._count(parts[0])
            case "quantified":
                self._quantified(str(parts[0]), parts[1])
            case "comparison":
                self._comparison(parts[0], str(parts[1]), parts[2])
            case "negation":
                self._operands(parts)
                self.words.append(_NOT)
            case "implication":
                self._operands(parts[:1])
                self.words.append(_NOT)
                self._operands(parts[1:])
                self.words.append(_OR)
            case _:
                self._operands(parts)
                operator = {"sum": _ADD, "conjunction": _AND, "disjunction": _OR}
                self.words.append(operator[str(tree.data)])

    def _operands(self, parts: Iterable[Token | Tree[Token]]) -> None:
        for part in parts:
            assert isinstance(part, Tree)
            self.write(part)

    def _comparison(
        self, left: Token | Tree[Token], operator: str, right: Token | Tree[Token]
    ) -> None:
        if operator in (">", ">="):
            left, right = right, left
        self._operands((left, right))
        self.words.append(
            {"==": _EQUAL, "!=": _EQUAL, "<": _LESS, ">": _LESS}.get(operator, _AT_MOST)
        )
        if operator == "!=":
            self.words.append(_NOT)

    def _quantified(self, quantifier: str, lines: Token | Tree[Token]) -> None:
        self._count(lines)
        if quantifier == "all":
            self.words += [_SIZE, self.words[-1 - _STATE_WORDS], _EQUAL]
            return
        self.words += [_NUMBER, 0, _EQUAL]
        if quantifier == "some":
            self.words.append(_NOT)

    def _count(self, lines: Token | Tree[Token]) -> None:
        assert isinstance(lines, Tree)
        tokens = [part for part in lines.children if isinstance(part, Token)]
        names = [machine.MACHINE for machine in self._info.machines]
        number = self._number(tokens[0], names, "machine")
        mask = self._states(number, tokens[1].type == "IN", tokens[2:])
        parts = [mask >> 64 * word & (1 << 64) - 1 for word in range(_STATE_WORDS)]
        self.words += [_COUNT, number, *parts]

    def _states(self, machine: int, by_state: bool, tokens: list[Token]) -> int:
        """A bit for each state that is meant."""
        declared = self._info.machines[machine]
        states = [declared.STATES.name_of(state) for state in range(declared.STATES.NUM)]
        permissions = [AccessPermission.name_of(each) for each in declared.PERMISSIONS]
        mask = 0
        for token in tokens:
            if by_state:
                mask |= 1 << self._number(token, states, f"state of {declared.MACHINE}")
                continue
            known = list(dict.fromkeys(permissions))
            wanted = known[self._number(token, known, f"permission in {declared.MACHINE}")]
            mask |= sum(1 << n for n, each in enumerate(permissions) if each == wanted)
        return mask

    def _number(self, token: Token, names: list[str], what: str) -> int:
        if token in names:
            return names.index(token)
        first = self._start + int(token.start_pos or 0)
        near = suggest(str(token), names)
        raise InvariantError(
            "unknown-name",
            f"`{token}` is no {what}",
            Span(self._source, first, first + len(token)),
            help=f"did you mean `{near}`?" if near else f"there are {', '.join(names[:12])}",
        )
