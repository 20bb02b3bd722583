"""The tree of a text to a scenario; what numbers may be is checked on the way.

Invariant: no number and no name of a text leaves this module unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from lark import Token, Transformer
from lark.tree import Meta
from lark.visitors import v_args

from slicc.scenario_text import syntax
from slicc.scenario_text.bounds import (
    LONGEST_LIMIT,
    MAX_LANES,
    MAX_PROGRAM_AGENTS,
    MAX_TRANSFER_BYTES,
    MOST_EPISODES,
)
from slicc.scenario_text.conditions import (
    Comparison,
    Condition,
    Conjunction,
    Disjunction,
    Formula,
    Model,
    Negation,
    Place,
    Quantifier,
    Register,
)
from slicc.scenario_text.errors import ScenarioError
from slicc.source import SourceFile, Span

MAX_STEPS: Final = 20_000
MAX_BYTES: Final = 1 << 18
"""Of all accesses together."""
MAX_KEYS: Final = 10_000
MAX_DELAYS: Final = 64
LAST_ADDRESS: Final = (1 << 47) - 1
_MOST: Final = (1 << 64) - 1
_LONGEST_NUMBER: Final = 2 + 2 * MAX_TRANSFER_BYTES
_LONGEST_NAME: Final = 200
_MOST_GUARD: Final = (1 << 32) - 1
MOST_OF: Final = {"cpu": 15, "group": 15, "wave": 15, "lane": MAX_LANES - 1, "unit": 63}
"""Of the parts of a place."""
_Found = TypeVar("_Found")


class _Scope(str):
    """A word behind an access."""


class _Number:
    """A number, before it is known what it is for."""

    def __init__(self, value: int, span: Span) -> None:
        self.value = value
        self.span = span

    def within(self, low: int, high: int, what: str) -> int:
        """The value, if it is one of those. Raises ScenarioError."""
        if not low <= self.value <= high:
            shown = self.span.text if len(self.span.text) < 40 else f"{self.span.text[:40]}..."
            limits = f"it is from {_short(low)} to {_short(high)}"
            raise ScenarioError("value", f"{shown} is not {what}: {limits}", self.span)
        return self.value


def _short(number: int) -> str:
    return str(number) if number < 100_000 else f"{number:#x}"


def _mark(word: str) -> Callable[[TreeBuilder, Meta, list[Any]], syntax.Mark]:
    return lambda self, meta, children: syntax.Mark(word, span=self.at(meta))


@v_args(meta=True)
class TreeBuilder(Transformer[Token, Any]):
    """A method for each production; children are what their own methods returned."""

    def __init__(self, source: SourceFile) -> None:
        super().__init__()
        self._source = source

    def at(self, meta: Meta) -> Span:
        """The text of a production, without the end of its line."""
        if meta.empty:
            return Span(self._source, 0, 0)
        text = self._source.text[meta.start_pos : meta.end_pos]
        return Span(self._source, meta.start_pos, meta.start_pos + len(text.rstrip()))

    def _span(self, token: Token) -> Span:
        start = int(token.start_pos or 0)
        return Span(self._source, start, start + len(token))

    def _name(self, token: Token) -> str:
        if len(token) > _LONGEST_NAME:
            what = f"a name of over {_LONGEST_NAME} characters"
            raise ScenarioError("too-large", what, self._span(token))
        return str(token)

    def _text(self, token: Token) -> str:
        return str(token)[1:-1] if token.type == "STRING" else self._name(token)

    # ------------------------------------------------------------ headings

    def title(self, meta: Meta, children: list[Token]) -> _Heading:
        return _Heading("title", self._text(children[0]), self.at(meta))

    def protocol(self, meta: Meta, children: list[Token]) -> _Heading:
        return _Heading("protocol", self._text(children[0]), self.at(meta))

    def model(self, meta: Meta, children: list[Token]) -> _Heading:
        return _Heading("model", Model(str(children[0])), self.at(meta))

    def keys(self, meta: Meta, children: list[_Number]) -> _Heading:
        span = self.at(meta)
        if len(children) > MAX_KEYS:
            raise ScenarioError("too-large", f"more than {MAX_KEYS:,} run keys", span)
        return _Heading("keys", tuple(k.within(0, _MOST, "a run key") for k in children), span)

    def delays(self, meta: Meta, children: list[Token]) -> _Heading:
        span = self.at(meta)
        if len(children) > MAX_DELAYS:
            raise ScenarioError("too-large", f"more than {MAX_DELAYS} delay policies", span)
        return _Heading("delays", tuple(map(self._name, children)), span)

    def limit(self, meta: Meta, children: list[_Number]) -> _Heading:
        ticks = children[0].within(1, LONGEST_LIMIT, "a number of ticks")
        return _Heading("limit", ticks, self.at(meta))

    def without(self, meta: Meta, children: list[Token]) -> _Heading:
        return _Heading("without", tuple(map(self._name, children)), self.at(meta))

    def setting(self, meta: Meta, children: list[Any]) -> syntax.Setting:
        path, value = children
        return syntax.Setting(self._text(path), self._value(value), span=self.at(meta))

    def array(self, meta: Meta, children: list[Any]) -> syntax.Value:
        return [self._value(child) for child in children]

    def table(self, meta: Meta, children: list[tuple[str, syntax.Value]]) -> syntax.Value:
        return dict(children)

    def field(self, meta: Meta, children: list[Any]) -> tuple[str, syntax.Value]:
        name, value = children
        return self._text(name), self._value(value)

    def _value(self, child: Any) -> syntax.Value:
        if isinstance(child, _Number):
            return child.within(-_MOST, _MOST, "a number of 64 bits")
        if isinstance(child, Token):
            return self._text(child) if child.type == "STRING" else child.type == "TRUE"
        value: syntax.Value = child
        return value

    def local(self, meta: Meta, children: list[Token]) -> _Heading:
        names = tuple(self._name(child) for child in children if child.type != "LOCAL")
        return _Heading("local", names, self.at(meta))

    def location(self, meta: Meta, children: list[Any]) -> syntax.Location:
        name, *base, number = children
        offset = number.within(0, LAST_ADDRESS, "an address")
        of = self._name(base[0]) if base else None
        return syntax.Location(self._name(name), of, offset, span=self.at(meta))

    # ------------------------------------------------------------ the table

    def columns(self, meta: Meta, children: list[Any]) -> _Columns:
        columns = _all(children, syntax.Column)
        if len(columns) > MAX_PROGRAM_AGENTS:
            what = f"{len(columns)} threads, {MAX_PROGRAM_AGENTS} are possible"
            raise ScenarioError("too-large", what, self.at(meta))
        return _Columns(columns)

    def column(self, meta: Meta, children: list[Token]) -> syntax.Column:
        name, *agent = map(self._name, _all(children, Token))
        position = _one(children, syntax.Position)
        return syntax.Column(name, agent[0] if agent else None, position, span=self.at(meta))

    def position(self, meta: Meta, children: list[Any]) -> syntax.Position:
        span = self.at(meta)
        parts: dict[str, int] = {}
        for word, number in _all(children, tuple):
            if word in parts:
                raise ScenarioError("place", f"`{word}` stands there twice", span)
            parts[word] = number.within(0, MOST_OF[word], f"a {word}")
        if "cpu" in parts and len(parts) > 1:
            raise ScenarioError("place", "a thread of a processor is in no group", span)
        return syntax.Position(**parts, span=span)

    def position_part(self, meta: Meta, children: list[Any]) -> tuple[str, _Number]:
        word, number = children
        return str(word), number

    def row(self, meta: Meta, children: list[Any]) -> _Row:
        steps = []
        column = 0
        for child in children:
            if isinstance(child, Token):
                column += 1
            elif child is not None:
                steps.append(syntax.Step(column, child, span=child.span))
        return _Row(tuple(steps))

    row_from_bar = row

    def cell(self, meta: Meta, children: list[Any]) -> Any:
        return children[0] if children else None

    def operation(self, meta: Meta, children: list[Any]) -> syntax.Operation:
        operation: syntax.Operation = children[-1]
        guard = _one(children, syntax.Guard)
        if guard is not None:
            children = [child for child in children if child is not guard]
            if not isinstance(operation, syntax.Access | syntax.Fence):
                raise ScenarioError("value", "only accesses and fences have a guard", self.at(meta))
            operation = replace(operation, when=guard, span=self.at(meta))
        if len(children) == 1:
            return operation
        if not isinstance(operation, syntax.Load | syntax.Store | syntax.Atomic):
            raise ScenarioError("lane", "only accesses are made by a lane", self.at(meta))
        lane, joins = children[0]
        return replace(operation, lane=lane, joins=joins, span=self.at(meta))

    def lane(self, meta: Meta, children: list[Any]) -> tuple[int, bool]:
        return children[-1].within(0, MAX_LANES - 1, "a lane"), len(children) == 3

    def guard(self, meta: Meta, children: list[Any]) -> syntax.Guard:
        name, number = children
        value = number.within(0, _MOST_GUARD, "a value of 4 bytes")
        return syntax.Guard(self._name(name), value, span=self.at(meta))

    def order(self, meta: Meta, children: list[Token | None]) -> syntax.Order:
        word, scope = children
        return syntax.Order(str(word), None if scope is None else str(scope), span=self.at(meta))

    def ordering(self, meta: Meta, children: list[Any]) -> syntax.Fence:
        order, *space = children
        return syntax.Fence(order, str(space[0]) if space else None, span=self.at(meta))

    def load(self, meta: Meta, children: list[Any]) -> syntax.Load:
        common = _common(children)
        return syntax.Load(**common, result=_one(children, syntax.Result), span=self.at(meta))

    def store(self, meta: Meta, children: list[Any]) -> syntax.Store:
        common = _common(children)
        size = common["size"] or syntax.DEFAULT_BYTES
        if isinstance(children[1], Token):
            return syntax.Store(**common, register=self._name(children[1]), span=self.at(meta))
        value = children[1].within(0, (1 << 8 * size) - 1, f"a value of {size} bytes")
        return syntax.Store(**common, value=value, span=self.at(meta))

    def atomic(self, meta: Meta, children: list[Any]) -> syntax.Atomic:
        name, *rest = children
        common = _common(rest)
        size = common["size"] or syntax.DEFAULT_BYTES
        values = [
            number.within(0, (1 << 8 * size) - 1, f"a value of {size} bytes")
            for number in _all(rest, _Number)
        ]
        registers = [each for each in _all(rest, Token) if not isinstance(each, _Scope)]
        if registers:
            values.insert(0, 0)
        return syntax.Atomic(
            **common,
            operation=self._name(name),
            operand=values[0],
            register=self._name(registers[0]) if registers else None,
            compare=values[1] if len(values) == 2 else None,
            result=_one(rest, syntax.Result),
            span=self.at(meta),
        )

    def compare(self, meta: Meta, children: list[_Number]) -> _Number:
        return children[0]

    def add(self, meta: Meta, children: list[Any]) -> syntax.Add:
        children[0].within(1, 1, "what an episode adds")
        scopes = frozenset(map(str, _all(children, _Scope)))
        return syntax.Add(_all(children, tuple), scopes, span=self.at(meta))

    def word(self, meta: Meta, children: list[Any]) -> tuple[int, Place]:
        *lane, place = children
        return lane[1].within(0, MAX_LANES - 1, "a lane") if lane else 0, place

    def after(self, meta: Meta, children: list[Any]) -> syntax.After:
        name, *count = children
        number = count[0].within(1, MOST_EPISODES, "a number of episodes") if count else None
        return syntax.After(self._name(name), number, span=self.at(meta))

    acquire, release, flush = _mark("acquire"), _mark("release"), _mark("flush")
    fence, begin, end = _mark("fence"), _mark("begin"), _mark("end")
    racing = _mark("racing loads")

    def place(self, meta: Meta, children: list[Any]) -> Place:
        name, *number = children
        offset = number[0].within(0, LAST_ADDRESS, "an offset") if number else 0
        return Place(self._name(name), offset, span=self.at(meta))

    def result(self, meta: Meta, children: list[Any]) -> syntax.Result:
        (child,) = children
        span = self.at(meta)
        if isinstance(child, _Number):
            most = (1 << 8 * MAX_TRANSFER_BYTES) - 1
            return syntax.Result(value=child.within(0, most, "a value"), span=span)
        if child.type == "INITIAL":
            return syntax.Result(span=span)
        return syntax.Result(register=self._name(child), span=span)

    def size(self, meta: Meta, children: list[_Number]) -> int:
        return children[0].within(1, MAX_TRANSFER_BYTES, "a size in bytes")

    def scope(self, meta: Meta, children: list[Token]) -> _Scope:
        return _Scope(children[0])

    # ------------------------------------------------------------ conditions

    def condition(self, meta: Meta, children: list[Any]) -> Condition:
        quantifier, formula, *model = children
        return Condition(quantifier, formula, model[0] if model else None, span=self.at(meta))

    def quantifier(self, meta: Meta, children: list[Token]) -> Quantifier:
        return Quantifier(str(children[0]))

    def under(self, meta: Meta, children: list[Token]) -> Model:
        return Model(str(children[0]))

    def disjunction(self, meta: Meta, children: list[Formula]) -> Formula:
        return Disjunction(tuple(children))

    def conjunction(self, meta: Meta, children: list[Formula]) -> Formula:
        return Conjunction(tuple(children))

    def negation(self, meta: Meta, children: list[Formula]) -> Formula:
        return Negation(children[0])

    def comparison(self, meta: Meta, children: list[Any]) -> Formula:
        term, sign, number = children
        value = number.within(0, _MOST, "a value of 8 bytes")
        return Comparison(term, value, sign.type == "DIFFERS")

    def register(self, meta: Meta, children: list[Token]) -> Register:
        thread, name = map(self._name, children)
        return Register(thread, name, span=self.at(meta))

    def number(self, meta: Meta, children: list[Token]) -> _Number:
        (token,) = children
        if len(token) > _LONGEST_NUMBER:
            raise ScenarioError("too-large", "a number of too many digits", self._span(token))
        return _Number(int(token, 0 if "x" in token.lower() else 10), self._span(token))

    # ------------------------------------------------------------ the whole

    def file(self, meta: Meta, children: list[Any]) -> syntax.Scenario:
        headings = _all(children, _Heading)
        for number, heading in enumerate(headings):
            earlier = [each for each in headings[:number] if each.name == heading.name]
            if earlier:
                raise ScenarioError(
                    "name",
                    f"`{heading.span.text.split()[0]}` stands there twice",
                    heading.span,
                    secondary=[(earlier[0].span, "the first time here")],
                )
        rows = tuple(row.steps for row in _all(children, _Row))
        if sum(map(len, rows)) > MAX_STEPS:
            what = f"more than {MAX_STEPS:,} operations"
            raise ScenarioError("too-large", what, rows[-1][0].span)
        accesses = [
            s.operation for row in rows for s in row if isinstance(s.operation, syntax.Access)
        ]
        if sum(access.bytes for access in accesses) > MAX_BYTES:
            what = f"accesses of more than {MAX_BYTES:,} bytes together"
            raise ScenarioError("too-large", what, rows[-1][0].span)
        known = {heading.name: heading.value for heading in headings}
        return syntax.Scenario(
            _all(children, _Columns)[0].columns,
            rows,
            _all(children, Condition),
            _all(children, syntax.Location),
            _all(children, syntax.Setting),
            **known,
            headings=tuple((heading.name, heading.span) for heading in headings),
            span=self.at(meta),
        )


class _Heading:
    def __init__(self, name: str, value: Any, span: Span) -> None:
        self.name, self.value, self.span = name, value, span


class _Columns:
    def __init__(self, columns: tuple[syntax.Column, ...]) -> None:
        self.columns = columns


class _Row:
    def __init__(self, steps: tuple[syntax.Step, ...]) -> None:
        self.steps = steps


def _common(children: Sequence[Any]) -> dict[str, Any]:
    """Place, size and scopes of an access."""
    sizes = _all(children, int)
    return {
        "place": _all(children, Place)[0],
        "size": sizes[0] if sizes else None,
        "scopes": frozenset(map(str, _all(children, _Scope))),
        "order": _one(children, syntax.Order),
    }


def _one(children: Sequence[Any], kind: type[_Found]) -> _Found | None:
    return next((child for child in children if isinstance(child, kind)), None)


def _all(children: Sequence[Any], kind: type[_Found]) -> tuple[_Found, ...]:
    return tuple(child for child in children if isinstance(child, kind))
