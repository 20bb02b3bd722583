"""Texts are read as what they say, printed as what is read; mistakes have a line and a caret."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark

from slicc import scenario_text
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Model, Place, Quantifier, Register
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import MAX_TEXT_BYTES, parse_scenario, read_scenario
from slicc.scenario_text.printer import printed
from slicc.source import SourceFile
from tests.tester.scenarios import scenario

EVERYTHING = """\
# what no program needs all at once
scenario "all of it"
protocol "MI"
model tso
keys 1, 0x10
delays uniform, nominal
limit 5000
without dma, other
set "network.latency" = 3
set machine.X.list = [1, "a", {b = true, "c d" = -2}]
A = 0x1000
B = A + 8

P0              | P1 = cpu3                       | gpu0.0
store A = 0x12  | load A+4 -> r1 (2 bytes) glc slc | lane 3: store B = 1
begin           | after P0                        | with lane 4: store B+4 = 2
load A -> r0    |                                 | racing loads
end             | atomic cas A 5 if 3 -> r2       | add 1 to A, lane 3 B quiet
                | atomic add A 1 (8 bytes) quiet  | acquire
fence           | after P0, 1 episode             | release
load A -> r3 instruction | | flush

exists P0:r0 = 1 and (A = 2 or not B+4 != 0x10)
forbidden ~P0:r0 = 1 \\/ P0:r3 = 2 /\\ A = 2 under sc
forall (P0:r0 = 1 or P0:r0 = 2) and A = 1 under tso
"""


def failing(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario(text)
    return str(caught.value)


def test_what_is_printed_says_the_same() -> None:
    first = scenario(EVERYTHING)
    again = scenario(printed(first))
    assert again == first
    assert printed(again) == printed(first)


def test_everything_is_where_it_is_looked_for() -> None:
    read = scenario(EVERYTHING)
    assert (read.title, read.protocol, read.model) == ("all of it", "MI", Model.tso)
    assert (read.keys, read.delays, read.limit) == ((1, 16), ("uniform", "nominal"), 5000)
    assert read.without == ("dma", "other")
    assert [s.value for s in read.settings] == [3, [1, "a", {"b": True, "c d": -2}]]
    assert read.locations == (
        syntax.Location("A", None, 0x1000),
        syntax.Location("B", "A", 8),
    )
    assert read.columns[1] == syntax.Column("P1", "cpu3")
    cells = [(step.column, step.operation) for row in read.rows[:2] for step in row]
    assert cells == [
        (0, syntax.Store(Place("A"), value=0x12)),
        (
            1,
            syntax.Load(
                Place("A", 4), size=2, scopes=frozenset({"glc", "slc"}), result=syntax.Result("r1")
            ),
        ),
        (2, syntax.Store(Place("B"), lane=3, value=1)),
        (0, syntax.Mark("begin")),
        (1, syntax.After("P0")),
        (2, syntax.Store(Place("B", 4), lane=4, joins=True, value=2)),
    ]
    kinds = [(c.quantifier, c.under) for c in read.conditions]
    assert kinds == [
        (Quantifier.exists, None),
        (Quantifier.forbidden, Model.sc),
        (Quantifier.forall, Model.tso),
    ]
    assert Register("P0", "r0") == Register("P0", "r0", span=read.span)


def test_the_grammar_has_no_conflict() -> None:
    text = (Path(scenario_text.__file__).parent / "grammar.lark").read_text()
    Lark(text, start="file", parser="lalr", strict=True)


ONE = 'scenario "x"\nP0 | P1\nstore A = 1 | load A -> r0\n\nexists P1:r0 = 1\n'


@pytest.mark.parametrize(
    ("old", "new", "slug", "message", "marked"),
    [
        ("store A", "stroe A", "syntax", "did you mean `store`?", "stroe"),
        ("A = 1 ", "A = ", "syntax", "`|` stands where a name or a number should", "|"),
        ("exists", "$", "syntax", "`$` means nothing here", "$"),
        ("P1:r0", "P2:r0", "name", "there is no thread P2", "P2:r0"),
        ("P1:r0", "P1:r1", "name", "no operation of P1 returns to r1", "P1:r1"),
        ("P0 | P1", "P0 | P0", "name", "two threads have the name P0", "P0"),
        ("P0 | P1", "P0 = a | P1 = a", "name", "two threads are run by a", "P1 = a"),
        ("P0 | P1", "P0", "name", "a row of 2 cells, and 1 threads", "load A -> r0"),
        ("load A", "load A -> r0 | load B", "name", "a row of 3 cells", "load B -> r0"),
        ("-> r0", "-> 7", "condition", "a value is stated where conditions judge", "-> 7"),
        ("store A = 1", "atomic foo A 1", "name", "no atomic operation foo", "atomic foo A 1"),
        ("store A = 1", "atomic add A 1 if 2", "name", "`if VALUE` belongs to cas", "atomic add"),
        ("A = 1", "A = 0x100000000", "value", "is not a value of 4 bytes", "0x100000000"),
        ("A = 1", "A = -1", "value", "is not a value of 4 bytes", "-1"),
        ("A = 1", "A = 1 (0 bytes)", "value", "0 is not a size in bytes", "0"),
        ("store A", "lane 64: store A", "value", "64 is not a lane", "64"),
        ("store A = 1", "lane 1: acquire", "lane", "only accesses are made by a lane", "lane 1: a"),
        ("store A = 1", "after P7", "name", "there is no thread P7", "after P7"),
        ("scenario", "limit 0\nscenario", "value", "0 is not a number of ticks", "0"),
        ("P0 |", "A = B + 4\nP0 |", "name", "B has no place above", "A = B + 4"),
        ("P0 |", "A = 4\nA = 8\nP0 |", "name", "A has two places", "A = 8"),
        ("P0 |", 'scenario "y"\nP0 |', "name", "`scenario` stands there twice", "scenario"),
        ("exists", "exists " + "(" * 101, "too-large", "more than 100 brackets", "("),
        ("store A", "store " + "A" * 201, "too-large", "a name of over 200 characters", "AAA"),
        ("A = 1", "A = 0x" + "1" * 1100, "too-large", "a number of too many digits", "0x111"),
    ],
)
def test_a_mistake_is_shown_in_its_line(
    old: str, new: str, slug: str, message: str, marked: str
) -> None:
    text = ONE.replace(old, new, 1)
    with pytest.raises(ScenarioError) as caught:
        scenario(text)
    found = caught.value.diagnostic
    assert found.slug == f"scenario-{slug}"
    assert message in str(caught.value)
    assert found.primary.span.text.startswith(marked)
    line = found.primary.span.line
    assert f"a.litmus:{line}:" in str(caught.value)
    assert "^" in str(caught.value)


def test_a_text_that_is_too_large_is_not_parsed() -> None:
    with pytest.raises(ScenarioError, match="larger than"):
        parse_scenario(SourceFile("a.litmus", "#" * (MAX_TEXT_BYTES + 1)))


def test_an_empty_text_wants_threads() -> None:
    assert "the end of the file stands where" in failing("# nothing\n")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.litmus").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="no UTF-8 text"):
        read_scenario(tmp_path / "a.litmus")
    with pytest.raises(OSError):
        read_scenario(tmp_path / "b.litmus")


@pytest.mark.parametrize("text", ["P0\n", "P0 | P1\n|\n"])
def test_a_scenario_that_does_nothing_is_a_mistake(text: str) -> None:
    with pytest.raises(ScenarioError, match="no operation stands below the threads"):
        scenario(text)
