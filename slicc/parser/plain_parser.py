"""Parses texts without mistakes, which most are, from the table that lark made.

Importing lark costs as much as parsing a large file. What it knows of the grammar (one pattern of
all tokens, the actions of its table, what is done with each production) is plain data and kept
between runs. Invariant: a text gets the tree that lark builds; of one that lark refuses, and only
of such, there is none, and lark looks for its mistakes.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.token_names import END
from slicc.syntax import nodes as syntax
from slicc.text.data import json_text
from slicc.text.kept import private_files

if TYPE_CHECKING:
    from lark import Lark
    from lark.grammar import Rule

_MOST: Final = 4


class Token(str):
    """A word of the text with its place, as lark's."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    start_pos: int
    end_pos: int


class PlainParser:
    """``table`` is what :func:`table_of` makes. Set the file of ``builder`` before parsing."""

    def __init__(self, table: dict[str, Any], builder: TreeBuilder) -> None:
        self._pattern = re.compile(table["pattern"])
        self._words: dict[str, str] = table["words"]
        self._ignored = frozenset(table["ignored"])
        self._first: int = table["first"]
        self._last: int = table["last"]
        self._actions: list[dict[str, int]] = table["actions"]
        self._rules = [
            (origin, size, repeated, single, getattr(builder, name, None))
            for origin, size, repeated, single, name in table["rules"]
        ]

    def parse(self, text: str) -> syntax.Unit | None:
        """The tree; None if the text is not as the grammar says."""
        states, position = [self._first], 0
        values: list[Any] = []
        words, ignored, actions = self._words, self._ignored, self._actions
        for match in self._pattern.finditer(text):
            start, end = match.span()
            if start != position:
                return None
            position = end
            kind = cast(str, match.lastgroup)
            if kind in ignored:
                continue
            token = Token(match[0])
            if kind == "ID":
                kind = words.get(token, kind)
            token.type, token.start_pos, token.end_pos = kind, start, end
            action = actions[states[-1]].get(kind)
            while action is not None and action < 0:
                self._reduce(~action, states, values)
                action = actions[states[-1]].get(kind)
            if action is None:
                return None
            states.append(action)
            values.append(token)
        return self._end(states, values) if position == len(text) else None

    def _end(self, states: list[int], values: list[Any]) -> syntax.Unit | None:
        while states[-1] != self._last:
            action = self._actions[states[-1]].get(END)
            if action is None:
                return None
            self._reduce(~action, states, values)
        return cast(syntax.Unit, values[-1])

    def _reduce(self, number: int, states: list[int], values: list[Any]) -> None:
        origin, size, repeated, single, build = self._rules[number]
        children = values[len(values) - size :]
        if size:
            del states[-size:], values[-size:]
        if repeated:
            children = _flat(children, repeated)
        if single and len(children) == 1:
            values.append(children[0])
        else:
            values.append(children if build is None else build(children))
        states.append(self._actions[states[-1]][origin])


def _flat(children: list[Any], repeated: list[int]) -> list[Any]:
    """The children with those of repetitions in their places."""
    flat: list[Any] = []
    for place, child in enumerate(children):
        if place not in repeated:
            flat.append(child)
        elif flat:
            flat += child
        else:
            flat = child  # a repetition is left-recursive: it grows in place
    return flat


def kept_parser(builder: TreeBuilder) -> PlainParser | None:
    """A parser with the table that an earlier run kept, if there is one."""
    payload = private_files.load(_name())
    if payload is None:
        return None
    try:
        return PlainParser(json.loads(payload), builder)
    except (ValueError, KeyError, TypeError, AttributeError, re.error):
        return None  # an unusable file is no error, for any content


def keep_table(parser: Lark) -> None:
    """Keep what lark knows for later runs."""
    private_files.store(_name(), json_text(table_of(parser), compact=True).encode(), _MOST)


def lark_version() -> bytes:
    """The file of lark that names its version, read without importing lark."""
    spec = find_spec("lark")
    return Path(spec.origin).read_bytes() if spec is not None and spec.origin else b""


def _name() -> str:
    """Named for all that the table is made from."""
    texts = [
        Path(__file__).with_name(name).read_bytes()
        for name in ("grammar.lark", Path(__file__).name)
    ]
    digest = hashlib.sha256(b"\0".join([lark_version(), *texts])).hexdigest()
    return f"table-{digest[:32]}"


def table_of(parser: Lark) -> dict[str, Any]:
    """What lark knows of the grammar, as JSON: a shift is its state, a reduction ``~rule``."""
    from lark.parsers.lalr_analysis import Shift

    table: Any = parser.parser.parser._parse_table
    lexer: Any = parser.parser.lexer
    rules = {rule: number for number, rule in enumerate(parser.rules)}
    assert sorted(table.states) == list(range(len(table.states)))
    terminals = lexer.scanner.terminals  # which also makes what tells keywords from names
    words = lexer.callback["ID"].scanner.terminals
    return {
        "pattern": "|".join(f"(?P<{each.name}>{each.pattern.to_regexp()})" for each in terminals),
        "words": {each.pattern.value: each.name for each in words},
        "ignored": sorted(lexer.ignore_types),
        "first": table.start_states["unit"],
        "last": table.end_states["unit"],
        "actions": [
            {
                symbol: argument if action is Shift else ~rules[argument]
                for symbol, (action, argument) in table.states[state].items()
            }
            for state in range(len(table.states))
        ],
        "rules": [_production(rule) for rule in parser.rules],
    }


def _production(rule: Rule) -> tuple[str, int, list[int], bool, str]:
    """Origin, size, which symbols are repetitions, whether a single child stands for itself, and
    the builder's method; a repetition has none."""
    repetitions = [
        place
        for place, symbol in enumerate(rule.expansion)
        if not symbol.is_term and symbol.name.startswith("_")
    ]
    name = rule.alias or rule.origin.name
    return (
        rule.origin.name,
        len(rule.expansion),
        repetitions,
        bool(rule.options.expand1 and not rule.alias),
        "" if name.startswith("_") else name,
    )
