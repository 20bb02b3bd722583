"""The plain parser builds what lark builds, and refuses what lark refuses."""

from __future__ import annotations

from dataclasses import fields
from random import Random
from typing import Any

import pytest
from lark.exceptions import UnexpectedInput

from protocols import shipped
from slicc.parser import plain_parser
from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.grammar import load_parser
from slicc.parser.plain_parser import PlainParser, kept_parser, table_of
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.kept import private_files
from tests.sampling import sampled

TEXTS = sorted(path for path in shipped()["MI"].parent.glob("*.sm"))
BUILDER = TreeBuilder()
LARK = load_parser(BUILDER)
PLAIN = PlainParser(table_of(LARK), BUILDER)


def placed(value: Any) -> Any:
    """A node with its places, as tuples."""
    if isinstance(value, tuple):
        return tuple(map(placed, value))
    if isinstance(value, syntax.Node):
        inside = (placed(getattr(value, each.name)) for each in fields(value))
        return (type(value).__name__, *inside)
    return value


def by_lark(text: str) -> Any:
    try:
        return placed(LARK.parse(text))
    except UnexpectedInput:
        return None


@pytest.mark.parametrize("path", sampled(TEXTS, 3), ids=lambda path: path.name)
def test_trees_are_those_of_lark(path: Any) -> None:
    text = path.read_text()
    BUILDER.file = SourceFile(path.name, text)
    assert placed(PLAIN.parse(text)) == by_lark(text) is not None


def test_texts_with_edits_are_refused_where_lark_refuses_them() -> None:
    random = Random(7)
    text = (shipped()["MI"].parent / "MI-msg.sm").read_text()
    refused = 0
    for _ in range(60):
        start = random.randrange(len(text))
        new = random.choice(("", ";", "{", "é", " else ", "++", "a::b", "'x", "1.5"))
        edited = text[:start] + new + text[start + random.randrange(3) :]
        BUILDER.file = SourceFile("edited", edited)
        expected = by_lark(edited)
        assert placed(PLAIN.parse(edited)) == expected
        refused += expected is None
    assert 0 < refused < 60


@pytest.mark.parametrize("text", ["", "// nothing\n", "machine", "\x00"])
def test_texts_of_little_are_read_as_lark_reads_them(text: str) -> None:
    BUILDER.file = SourceFile("little", text)
    assert placed(PLAIN.parse(text)) == by_lark(text)


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b'{"pattern": "("}', b"\xff"])
def test_a_damaged_table_counts_as_none(damage: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "load", lambda name: damage)
    assert kept_parser(BUILDER) is None


def test_a_table_of_another_lark_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_parser._name()
    monkeypatch.setattr(plain_parser, "lark_version", lambda: b"another")
    assert plain_parser._name() != before
