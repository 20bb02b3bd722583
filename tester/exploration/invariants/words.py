"""From the tree of an invariant to words that the native search evaluates.

``exploration/invariants/evaluation.hpp`` reads them; their numbers are declared here, for both.
Invariant: every name in words that were written is one of the protocol's, of the sort that its
place asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from lark import Token, Tree

from slicc.diagnostics.model import Diagnostic, Label, Severity
from slicc.diagnostics.render_text import render_one
from slicc.source import SourceFile, Span
from slicc.text.suggest import suggest
from tester.errors import ConfigError
from tester.exploration.invariants.vocabulary import Field, Vocabulary

MOST_INVARIANTS: Final = 16
"""Invariants that a search judges."""
STATE_WORDS: Final = 4
FILTER_WORDS: Final = 5
DEPTH: Final = 64
"""Values on the stack that evaluates an invariant."""
_MASK: Final = (1 << 64) - 1


class InvariantWord(IntEnum):
    """What the stack of an invariant does; from UNION on with two values, the last one first."""

    NUMBER = 0
    """A number follows."""
    MACHINE = 1
    """A machine follows: its controllers."""
    IN = 2
    """STATE_WORDS words follow: those of a set that are in these states."""
    WHERE = 3
    """FILTER_WORDS words follow: field, whether its size is asked for, comparison, whether that is
    negated, value. Those of a set whose field compares so."""
    FIELD = 4
    """A field follows: all that it names at the controllers of a set."""
    SUM = 5
    """A field follows: its sum over the controllers of a set."""
    SIZE = 6
    """Of a set."""
    NOT = 7
    UNION = 8
    MEET = 9
    WITHIN = 10
    ADD = 11
    EQUAL = 12
    LESS = 13
    AT_MOST = 14
    AND = 15
    OR = 16


_OF_TWO: Final = {
    "union": InvariantWord.UNION,
    "meet": InvariantWord.MEET,
    "containment": InvariantWord.WITHIN,
    "total": InvariantWord.ADD,
    "conjunction": InvariantWord.AND,
    "disjunction": InvariantWord.OR,
}
_COMPARISONS: Final = {
    "==": (InvariantWord.EQUAL, False),
    "!=": (InvariantWord.EQUAL, True),
    "<": (InvariantWord.LESS, False),
    "<=": (InvariantWord.AT_MOST, False),
    ">": (InvariantWord.AT_MOST, True),
    ">=": (InvariantWord.LESS, True),
}
"""As a comparison, and whether what it says is negated."""
Part = Token | Tree[Token] | None


class InvariantError(ConfigError):
    """A text that is no invariant of the protocol. The message is a rendered diagnostic."""

    def __init__(self, slug: str, headline: str, span: Span, help: str | None = None) -> None:
        shown = Diagnostic(
            f"invariant-{slug}", Severity.ERROR, headline, Label(span, ""), (), help=help
        )
        super().__init__(render_one(shown).rstrip("\n"))


class Writer:
    """Words for a tree, operands before what they are for. Names are shown at their place in
    ``source``, where the invariant begins at ``start``."""

    def __init__(self, known: Vocabulary, source: SourceFile, start: int) -> None:
        self._known = known
        self._source = source
        self._start = start
        self.words: list[int] = []

    def write(self, tree: Tree[Token]) -> None:
        """Raises InvariantError."""
        parts = tree.children
        match tree.data:
            case "number":
                self.words += [InvariantWord.NUMBER, int(str(parts[0])) & _MASK]
            case "count":
                self._operands(parts)
                self.words.append(InvariantWord.SIZE)
            case "sum":
                machine = self._lines(parts[1])
                self.words += [InvariantWord.SUM, self._field(machine, parts[0], "number").number]
            case "held":
                machine = self._lines(parts[1])
                self.words += [InvariantWord.FIELD, self._field(machine, parts[0], "set").number]
            case "lines":
                self._lines(tree)
            case "quantified":
                self._quantified(str(parts[0]), parts[1])
            case "comparison":
                self._operands((parts[0], parts[2]))
                word, negated = _COMPARISONS[str(parts[1])]
                self.words.append(word)
                self.words += [InvariantWord.NOT] * negated
            case "negation":
                self._operands(parts)
                self.words.append(InvariantWord.NOT)
            case "implication":
                self._operands(parts[:1])
                self.words.append(InvariantWord.NOT)
                self._operands(parts[1:])
                self.words.append(InvariantWord.OR)
            case _:
                self._operands(parts)
                self.words.append(_OF_TWO[str(tree.data)])

    def _operands(self, parts: Iterable[Part]) -> None:
        for part in parts:
            assert isinstance(part, Tree)
            self.write(part)

    def _quantified(self, quantifier: str, of: Part) -> None:
        assert isinstance(of, Tree)
        if quantifier != "all":
            self._operands((of,))
            self.words += [InvariantWord.NOT] * (2 if quantifier == "some" else 1)
            return
        if of.data != "lines":
            place = self._span_of(next(of.scan_values(lambda each: isinstance(each, Token))))
            raise InvariantError("all", "`all` has a machine behind it", place, help="use `within`")
        self.words += [InvariantWord.MACHINE, self._machine(of)]
        self._lines(of)
        self.words.append(InvariantWord.EQUAL)

    # ------------------------------------------------------------------ controllers

    def _machine(self, lines: Tree[Token]) -> int:
        return self._number(lines.children[0], self._known.machines, "machine")

    def _lines(self, lines: Part) -> int:
        """Returns the machine."""
        assert isinstance(lines, Tree)
        machine = self._machine(lines)
        self.words += [InvariantWord.MACHINE, machine]
        _, how, names, filters = lines.children
        if isinstance(names, Tree):
            mask = self._states(machine, isinstance(how, Token) and how.type == "IN", names)
            self.words.append(InvariantWord.IN)
            self.words += [mask >> 64 * word & _MASK for word in range(STATE_WORDS)]
        if isinstance(filters, Tree):
            for each in filters.children:
                assert isinstance(each, Tree)
                self._filter(machine, each.children)
        return machine

    def _states(self, machine: int, by_state: bool, names: Tree[Token]) -> int:
        """A bit for each state that is meant."""
        declared = self._known.machines[machine]
        states, permissions = self._known.states(machine), self._known.permissions(machine)
        mask = 0
        for token in names.children:
            if by_state:
                mask |= 1 << self._number(token, states, f"state of {declared}")
                continue
            known = list(dict.fromkeys(permissions))
            wanted = known[self._number(token, known, f"permission in {declared}")]
            mask |= sum(1 << n for n, each in enumerate(permissions) if each == wanted)
        return mask

    def _filter(self, machine: int, parts: list[Token | Tree[Token]]) -> None:
        sized = len(parts) == 4
        name, comparison, value = parts[-3:]
        field = self._field(machine, name, "set" if sized else "number")
        word, negated = _COMPARISONS[str(comparison)]
        self.words += [
            InvariantWord.WHERE,
            field.number,
            sized,
            word,
            negated,
            self._value(field, value),
        ]

    def _value(self, field: Field, value: Part) -> int:
        assert isinstance(value, Token)
        if value.type == "NUMBER":
            return int(value) & _MASK
        return self._number(value, list(field.members), f"value of {field.name}")

    def _field(self, machine: int, name: Part, sort: str) -> Field:
        """``sort``: what its place asks for; a member is a number, too."""
        fields = self._known.fields_of(machine)
        names = [each.name for each in fields]
        declared = self._known.machines[machine]
        field = fields[self._number(name, names, f"field of {declared}")]
        if sort == ("number" if field.sort == "member" else field.sort):
            return field
        what = "names no controllers" if sort == "set" else "is no number"
        help = f"use `size({field.name})`" if field.sort == "set" else None
        raise InvariantError("sort", f"`{field.name}` {what}", self._span_of(name), help)

    # ------------------------------------------------------------------ names

    def _span_of(self, token: Part) -> Span:
        assert isinstance(token, Token)
        first = self._start + int(token.start_pos or 0)
        return Span(self._source, first, first + len(token))

    def _number(self, token: Part, names: list[str], what: str) -> int:
        if token in names:
            return names.index(str(token))
        near = suggest(str(token), names)
        listed = f"there are {', '.join(names[:12])}" if names else "there are none"
        raise InvariantError(
            "unknown-name",
            f"`{token}` is no {what}",
            self._span_of(token),
            help=f"did you mean `{near}`?" if near else listed,
        )
