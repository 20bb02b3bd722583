"""For any names of the author the C++ compiles, and the author's text is never code."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.codegen.cpp.names import Scope
from slicc.text.cpp_source import beside, comment, file_literal
from tests.slicc.codegen.cpp.tools import assert_compiles, made


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("a_issue", "a_issue"),
        ("class", "class_"),
        ("co_await", "co_await_"),
        ("NULL", "NULL_"),
        ("INT32_MAX", "INT32_MAX_"),
        ("fail", "fail_"),
        ("DataBlock_assign", "x_DataBlock_assign"),
        ("_leading", "x_leading"),
        ("two__bars", "x_two_bars"),
        ("__LINE__", "x_LINE"),
        ("x", "x_"),
    ],
)
def test_names_that_mean_something_are_changed(wanted: str, name: str) -> None:
    assert Scope().claim(wanted) == name


def test_names_stay_apart() -> None:
    scope = Scope()
    claimed = [scope.claim(each) for each in ("class", "class_", "_a", "x_a", "a", "a")]
    assert len(set(claimed)) == len(claimed)


@pytest.mark.parametrize("body", ["ends in \\", "a /* b */ c", "??/", "two\nlines", "\x1f1\x1ff"])
def test_a_comment_is_one_line_and_nothing_else(body: str) -> None:
    for line in (*comment(body), beside(body).strip()):
        assert line.startswith("// ")
        assert line.isprintable()
        assert not line.endswith("\\")


def test_file_names_stay_inside_their_quotes() -> None:
    assert file_literal('a"b\\c\nd.sm') == '"a_b_c_d.sm"'


NASTY = {
    "types": "structure(Context) { int a; } structure(Controller) { Context of; }"
    "enumeration(System) { NULL; template; and; }",
    "states": "NULL, AccessPermission:Busy; "
    "class, AccessPermission:Busy; EOF, AccessPermission:Busy;",
    "events": "int_; delete; TYPE; xor; NUM_;",
    "entry": "int default; int this; int set; int kind; int not;",
    "tbe": "int address_; int static; Controller next; int NULL;",
    "objects": "int limit; int counts; int woken; int volatile;",
    "functions": "int fail(int x, int c) { int t := x + c; int self := t; return self; }"
    "void trigger_(int switch) { } int equal() { return fail(1, 2); }"
    "int DataBlock_clear() { return equal(); }",
    "action": "wakeup",
    "desc": "a \\\\",
    "title": "*/ int main() { return 0; } /*",
    "body": "int case := equal(); int State_ := case; trigger_(State_ + DataBlock_clear());"
    "int valid := tbe.static + tbe.NULL + tbe.next.of.a + cache_entry.this + cache_entry.not;"
    "assert(valid == limit + counts + volatile);",
}


def test_nasty_names_compile(tmp_path: Path) -> None:
    assert_compiles(made(**NASTY), tmp_path)


def test_a_protocols_text_is_never_code() -> None:
    for text in made('error("*/ bad(1);");', desc="*/ bad(2);").files.values():
        for line in text.split("\n"):
            assert "bad" not in line.partition("//")[0]
