"""Printing and parsing again gives the same tree."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.render_text import render_text
from slicc.parser.parser import parse
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from tests.conftest import Golden
from tests.slicc.syntax.syntax_strategies import units
from tests.slicc.syntax.tree_printer import print_expression, print_unit

HERE = Path(__file__).parent
TEXTS = sorted([*HERE.glob("printer_cases/*.sm"), *(HERE.parents[1] / "protocols").glob("*.s*")])


def parse_text(text: str) -> syntax.Unit:
    sink = DiagnosticSink()
    unit = parse(SourceFile("case.sm", text), sink)
    assert unit is not None, render_text(sink.diagnostics)
    return unit


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(units)
def test_any_tree_survives_printing(unit: syntax.Unit) -> None:
    assert parse_text(print_unit(unit)) == unit


@pytest.mark.parametrize("path", TEXTS, ids=[path.name for path in TEXTS])
def test_file_survives_printing(path: Path) -> None:
    unit = parse_text(path.read_text(encoding="utf-8"))
    printed = print_unit(unit)
    assert parse_text(printed) == unit
    assert print_unit(parse_text(printed)) == printed


def test_canonical_form(golden: Golden) -> None:
    text = (HERE / "printer_cases" / "everything.sm").read_text(encoding="utf-8")
    golden("printed_everything", print_unit(parse_text(text)))


@pytest.mark.parametrize(
    "text",
    ["- -a", "---a", "!-a", "a - -b", "a * ++b + c", "--(-a)", "x[1, 2].f(y)", "'a \"b\"'"],
)
def test_expression_text(text: str) -> None:
    unit = parse_text(f"int f() {{ return {text}; }}")
    function = unit.declarations[0]
    assert isinstance(function, syntax.Function) and function.body is not None
    statement = function.body.statements[0]
    assert isinstance(statement, syntax.Return)
    printed = print_expression(statement.value)
    assert parse_text(f"int f() {{ return {printed}; }}") == unit
