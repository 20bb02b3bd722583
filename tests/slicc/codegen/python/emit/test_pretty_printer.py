"""Over-long statements break at commas and operators, and mean what they meant."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from slicc.codegen.python.emit import line_breaks, python_tree
from slicc.codegen.python.emit.python_tree import Code

NAMES = st.integers(1, 14).map(lambda length: Code("n" * length))
SIGNS = st.sampled_from(["and", "or", "==", "<", "+", "-", "*", "is not", "<<"])
TEXTS = st.sampled_from([Code('"a, b) or (c"'), Code("'say \"no, or (\"'"), Code('"\\"["')])


def _larger(inner: st.SearchStrategy[Code]) -> st.SearchStrategy[Code]:
    many = st.lists(inner, max_size=4)
    return st.one_of(
        st.builds(lambda function, given: python_tree.call(function, *given), NAMES, many),
        st.builds(python_tree.operation, inner, SIGNS, inner),
        st.builds(python_tree.choice, inner, inner, inner),
        st.builds(python_tree.attribute, inner, NAMES.map(lambda name: name.text)),
        st.builds(python_tree.subscript, NAMES, inner),
        many.map(lambda items: python_tree.tuple_of(tuple(items))),
        st.builds(lambda value: python_tree.call(NONE, python_tree.keyword("key", value)), inner),
        inner.map(python_tree.negation),
        inner.map(python_tree.minus),
    )


NONE = Code("f")
CODES = st.recursive(NAMES | TEXTS, _larger, max_leaves=20)
PLACES = st.sampled_from([("if ", ":\n    pass"), ("return ", ""), ("x: T[int] = ", "  # a (b, c")])


@given(CODES, PLACES, st.sampled_from([0, 60]))
def test_the_lines_mean_the_statement(code: Code, place: tuple[str, str], indent: int) -> None:
    before, after = place
    lines = line_breaks.lines(indent, before, code.text, after)
    assert all(line.startswith(" " * indent) for line in lines)
    broken = "\n".join([line[indent:] for line in lines])
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(f"{before}{code.text}{after}"))


@given(st.recursive(NAMES, _larger, max_leaves=20))
def test_what_is_still_too_long_holds_nothing_to_break_at(code: Code) -> None:
    for line in line_breaks.lines(20, "value = ", code.text, ""):
        if len(line) > line_breaks.WIDTH:
            assert line_breaks.lines(0, "", line.strip(), "") == [line.strip()]


def test_what_fits_stays_on_its_line() -> None:
    assert line_breaks.lines(0, "x = ", f"f({'a' * 80})", "") == [f"x = f({'a' * 80})"]


def test_arguments_move_together_before_they_part() -> None:
    code = f"{'f' * 30}({'a' * 40}, {'b' * 40})"
    assert line_breaks.lines(4, "", code, "") == [
        f"    {'f' * 30}(",
        f"        {'a' * 40}, {'b' * 40}",
        "    )",
    ]
    assert line_breaks.lines(20, "", code, "") == [
        f"{' ' * 20}{'f' * 30}(",
        f"{' ' * 24}{'a' * 40},",
        f"{' ' * 24}{'b' * 40},",
        f"{' ' * 20})",
    ]


def test_a_condition_parts_at_its_loosest_operators() -> None:
    one, two, three = "a" * 40, "b" * 40, "c" * 40
    assert line_breaks.lines(4, "if ", f"{one} and {two} or {three}", ":") == [
        "    if (",
        f"        {one} and {two}",
        f"        or {three}",
        "    ):",
    ]


def test_mixed_and_or_are_told_apart() -> None:
    a, b, c = (Code(name) for name in "abc")
    either = python_tree.operation(python_tree.operation(a, "and", b), "or", c)
    assert either.text == "(a and b) or c"
    assert python_tree.operation(either, "and", c).text == "((a and b) or c) and c"


def test_negated_comparisons_stand_in_parentheses() -> None:
    equal = python_tree.operation(Code("x"), "==", Code("y"))
    assert python_tree.negation(equal).text == "not (x == y)"
