"""Parsers of kept tables give the same trees and errors as those that were just built."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from slicc.scenario_text import parser as scenarios
from slicc.text.kept import grammar_tables
from tester.exploration.invariants import language as invariants

SCENARIO = """scenario "two threads"
P0                | P1
load A -> initial | load A+4 -> initial
store A = 1       | store A+4 = 2
"""
GRAMMARS = {
    "slicc.scenario_text": (scenarios._OPTIONS, SCENARIO),
    "tester.exploration.invariants": (invariants._OPTIONS, "no L1Cache in M or 1 == 1"),
}


@pytest.mark.parametrize("package", GRAMMARS)
def test_a_kept_table_parses_alike(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options, text = GRAMMARS[package]
    grammar = files(package).joinpath("grammar.lark").read_text()

    def outcome(parser: Lark, text: str) -> object:
        try:
            return parser.parse(text)
        except UnexpectedInput as error:
            return type(error), error.line, error.column, sorted(getattr(error, "accepts", ()))

    built = grammar_tables.load_grammar(grammar, options)
    monkeypatch.setattr(grammar_tables, "_build", None)
    kept = grammar_tables.load_grammar(grammar, options)
    assert kept is not built
    texts = [text[:end] for end in range(len(text) + 1)]
    assert [outcome(kept, each) for each in texts] == [outcome(built, each) for each in texts]
    assert not isinstance(outcome(built, text), tuple)
