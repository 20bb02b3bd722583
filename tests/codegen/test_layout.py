"""Over-long statements break where ruff would break them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicc.codegen.python import layout, pycode
from slicc.codegen.python.pycode import Code
from tests.codegen.tools import assert_formatted

NAMES = st.integers(1, 14).map(lambda length: "n" * length)


def _calls(inner: st.SearchStrategy[Code]) -> st.SearchStrategy[Code]:
    functions = NAMES.map(lambda name: pycode.dotted(f"self.{name}"))
    return st.builds(
        lambda function, arguments: pycode.call(function, *arguments),
        functions,
        st.lists(inner, max_size=4),
    )


def _operations(inner: st.SearchStrategy[Code]) -> st.SearchStrategy[Code]:
    signs = st.sampled_from(["and", "or", "==", "<", "+", "-", "*", "is not", "<<"])
    return st.builds(pycode.operation, inner, signs, inner)


def _larger(inner: st.SearchStrategy[Code]) -> st.SearchStrategy[Code]:
    return st.one_of(
        _calls(inner),
        _operations(inner),
        _operations(inner),
        inner.map(pycode.negation),
        st.builds(pycode.attribute, inner, NAMES),
        st.builds(pycode.subscript, NAMES.map(pycode.Atom), inner),
        st.lists(inner, max_size=3).map(lambda items: pycode.tuple_of(tuple(items))),
        st.builds(
            lambda name, value: pycode.call(pycode.Atom("f"), pycode.keyword(name, value)),
            NAMES,
            inner,
        ),
    )


LEAVES: st.SearchStrategy[Code] = st.one_of(
    NAMES.map(pycode.Atom),
    st.tuples(NAMES, NAMES).map(lambda names: pycode.dotted(f"self.{names[0]}.{names[1]}")),
)
CODES = st.recursive(LEAVES, _larger, max_leaves=14)
PLACES = st.sampled_from([("if ", ":"), ("return ", ""), ("x = ", ""), ("self.y = ", "")])


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(CODES, PLACES), min_size=20, max_size=40))
def test_ruff_changes_nothing(tmp_path: Path, made: list[tuple[Code, tuple[str, str]]]) -> None:
    text = ["class Made:", "    def method(self):"]
    for code, (before, after) in made:
        first, *rest = layout.lines(8, before, code, after)
        text += [f"        {first}", *rest]
        if after:
            text.append("            pass")
    (tmp_path / "made.py").write_text("\n".join(text) + "\n", encoding="utf-8")
    assert_formatted(tmp_path)


def test_what_fits_stays_on_its_line() -> None:
    code = pycode.call(pycode.Atom("f"), pycode.Atom("a" * 80))
    assert layout.lines(0, "x = ", code, "") == [f"x = f({'a' * 80})"]


def test_arguments_move_together_before_they_part() -> None:
    code = pycode.call(pycode.Atom("f" * 30), pycode.Atom("a" * 40), pycode.Atom("b" * 40))
    assert layout.lines(4, "", code, "") == [
        f"{'f' * 30}(",
        f"        {'a' * 40}, {'b' * 40}",
        "    )",
    ]


def test_mixed_and_or_are_told_apart() -> None:
    a, b, c = (pycode.Atom(name) for name in "abc")
    either = pycode.operation(pycode.operation(a, "and", b), "or", c)
    assert either.text == "(a and b) or c"
    assert pycode.operation(either, "and", c).text == "((a and b) or c) and c"


def test_negation_reads_as_one_word() -> None:
    known = pycode.operation(pycode.Atom("x"), "is not", pycode.NONE)
    assert pycode.negation(known).text == "x is None"
    equal = pycode.operation(pycode.Atom("x"), "==", pycode.Atom("y"))
    assert pycode.negation(equal).text == "not (x == y)"
