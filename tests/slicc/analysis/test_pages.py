"""Every page of the analysis: what it shows as wrong has the finding, on its line."""

from __future__ import annotations

from typing import Final

import pytest

from slicc import ir
from slicc.analysis import RULES, SLUGS, analyse, cycles, unused
from slicc.analysis.allowances import without_allowed
from slicc.compiler import compile_source, compile_text
from slicc.diagnostics.code import Code
from slicc.diagnostics.model import Diagnostic
from slicc.diagnostics.registry import AREAS
from slicc.source import SourceFile
from tests.slicc.analysis.small_protocol import SMALL

STEPS: Final = 300

AT: Final = {
    "unused-type": "enumeration(Speed)",
    "two-writers": "transition(I, Fetch, W)",
    "missed-wakeup": "transition(L, Return, F)",
    "unread-message": "enqueue(ask_out",
    "other-message-read": "enqueue(return_out",
    "one-way-count": "tbe.parts := tbe.parts - 1",
    "unhandled-pair": "L, AccessPermission:Busy",
    "null-record": "known.parts == 1",
}
"""A piece of the line that the finding points at, if it is not that of the example."""


def analysed(text: str) -> list[Diagnostic]:
    protocol = compile_text(text)
    assert isinstance(protocol, ir.Protocol)
    return analyse(protocol, steps=STEPS)


def line_of(piece: str, text: str) -> int:
    assert text.count(piece) == 1, piece
    return text[: text.index(piece)].count("\n") + 1


def test_the_protocol_of_the_pages_has_no_finding() -> None:
    found = {one.slug: one.primary.span.text for one in compile_source(SMALL).diagnostics}
    assert found == {"unused-action": "h_hit"}  # of which a page makes use
    assert analysed(SMALL) == []


PAGES = [code for code in AREAS["analysis"] if code.slug != "invalid-allowance"]


@pytest.mark.parametrize("code", PAGES, ids=lambda code: code.slug)
def test_the_example_has_the_finding(code: Code) -> None:
    first = SMALL.index(code.instead)  # of equal lines the first
    wrong = SMALL[:first] + code.example + SMALL[first + len(code.instead) :]
    lines = {found.primary.span.line for found in analysed(wrong) if found.slug == code.slug}
    assert lines == {line_of(AT.get(code.slug, code.example), wrong)}


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    reported = {slug for rule in RULES for slug in rule.slugs} | {
        *SLUGS,
        *unused.SLUGS,
        *cycles.SLUGS,
    }
    assert reported == {code.slug for code in PAGES}


def allowing(comment: str, text: str, before: str) -> tuple[list[str], list[str]]:
    """Slugs of what is left, and about the allowance, with a comment before a piece of text."""
    source = SourceFile("Test.sm", text.replace(before, comment + before, 1))
    left, invalid = without_allowed(analysed(source.text), [source])
    return [found.slug for found in left], [found.slug for found in invalid]


def test_records_that_ports_allocate_are_not_looked_for_in_rows() -> None:
    row = "transition(I, Store, W) { a_allocate; q_ask; p_popRequest; }"
    wrong = SMALL.replace(row, row.replace("a_allocate; ", ""))
    allocating = wrong.replace(
        "TBE tbe := TBEs[in_msg.LineAddress];",
        "TBE tbe := TBEs[in_msg.LineAddress];\n"
        "        if (is_invalid(tbe)) { TBEs.allocate(in_msg.LineAddress); }",
    )
    assert wrong != allocating
    for text, expected in ((wrong, {"missing-record"}), (allocating, set())):
        slugs = {found.slug for found in analysed(text)}
        assert slugs & {"missing-record", "allocated-twice", "kept-record"} == expected


def test_an_allocation_that_a_condition_decides_about_is_not_a_second_one() -> None:
    twice = SMALL.replace("(W, Part) { c_count;", "(W, Part) { a_allocate; c_count;")
    allocation = "check_allocate(TBEs);\n    TBEs.allocate(address);\n    set_tbe(TBEs[address]);"
    guarded = twice.replace(allocation, f"if (is_invalid(tbe)) {{ {allocation} }}")
    assert SMALL != twice != guarded
    for text, found in ((twice, True), (guarded, False)):
        assert ("allocated-twice" in {each.slug for each in analysed(text)}) is found


WRONG: Final = SMALL.replace("{ p_popReturn; w_wakeAsks; }", "{ p_popReturn; }")
MISSED: Final = ["missed-wakeup", "never-woken"]
LINE: Final = "  transition(L, Return, F)"


def test_a_line_and_a_machine_allow_findings_with_a_reason() -> None:
    assert allowing("", WRONG, LINE) == (MISSED, [])
    comment = "// slicc: allow(missed-wakeup) for the test\n"
    assert allowing(comment, WRONG, LINE) == (["never-woken"], [])
    assert allowing(comment, WRONG, 'machine(MachineType:Directory, "home")') == (
        ["never-woken"],
        [],
    )
    behind = WRONG.replace("{ p_popReturn; }", "{ p_popReturn; }  // slicc: allow(never-woken) so")
    assert allowing("", behind, LINE) == (["missed-wakeup"], [])


def test_an_allowance_elsewhere_allows_nothing() -> None:
    comment = "// slicc: allow(missed-wakeup) for the test\n"
    assert allowing(comment, WRONG, 'machine(MachineType:L1Cache, "cache")') == (MISSED, [])
    assert allowing(comment, WRONG, "  transition(F, Ask, L)") == (MISSED, [])


def test_invalid_allowances() -> None:
    page = next(code for code in AREAS["analysis"] if code.slug == "invalid-allowance")
    for text, expected in ((page.example, ["invalid-allowance"]), (page.instead, [])):
        whole = SMALL.replace("  transition(L, Ask) { z_wait; }", text)
        assert allowing("", whole, LINE) == ([], expected)
    misspelt = "// slicc: allow(mised-wakeup) for the test\n"
    assert allowing(misspelt, WRONG, LINE) == (MISSED, ["invalid-allowance"])


def test_the_same_text_gives_the_same_findings() -> None:
    assert analysed(WRONG) == analysed(WRONG)
