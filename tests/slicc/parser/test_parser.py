"""The grammar, the tree it gives, and the cache of its table."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import lark
import pytest

from slicc.diagnostics.model import SHOWN_PER_FILE, DiagnosticSink
from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.grammar import OPTIONS, grammar_text, load_parser
from slicc.parser.parser import parse
from slicc.parser.token_names import TokenNames
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.kept import grammar_tables, private_files
from slicc.text.kept.private_files import private_directory
from tests.sampling import sampled


def parse_text(text: str) -> syntax.Unit:
    sink = DiagnosticSink()
    unit = parse(SourceFile("case.sm", text), sink)
    assert unit is not None, [found.headline for found in sink.diagnostics]
    return unit


def statement(text: str) -> syntax.Statement:
    action = parse_text(f"action(a) {{ {text} }}").declarations[0]
    assert isinstance(action, syntax.Action)
    (only,) = action.body.statements
    return only


def value(text: str) -> syntax.Expression:
    found = statement(f"x := {text};")
    assert isinstance(found, syntax.Assign)
    return found.value


def shape(node: object) -> object:
    """Operators and names of an expression as nested tuples."""
    match node:
        case syntax.Binary(operator=operator, left=left, right=right):
            return (operator, shape(left), shape(right))
        case syntax.Unary(operator=operator, operand=operand):
            return (operator, shape(operand))
        case syntax.Variable(name=name):
            return name.text
        case syntax.NumberLiteral(value=number):
            return number
        case syntax.FieldAccess(receiver=receiver, field=name):
            return (".", shape(receiver), name.text)
        case _:
            return type(node).__name__


def test_grammar_has_no_conflict_and_names_every_terminal() -> None:
    parser = lark.Lark(grammar_text(), strict=True, **OPTIONS)
    names = [terminal.name for terminal in parser.terminals]
    assert [name for name in names if name.startswith("__")] == []
    shown = TokenNames(parser)
    for name in names:
        if name not in parser.ignore_tokens:
            assert shown.of(name) != name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("++a + b", ("++", ("+", "a", "b"))),
        ("a * ++b + c", ("*", "a", ("++", ("+", "b", "c")))),
        ("a || b && c", ("||", "a", ("&&", "b", "c"))),
        ("a && b == c", ("&&", "a", ("==", "b", "c"))),
        ("a == b < c", ("==", "a", ("<", "b", "c"))),
        ("a < b < c", ("<", ("<", "a", "b"), "c")),
        ("1 << 2 + 3", ("<<", 1, ("+", 2, 3))),
        ("a - b - c", ("-", ("-", "a", "b"), "c")),
        ("a - b * c", ("-", "a", ("*", "b", "c"))),
        ("!a == b", ("==", ("!", "a"), "b")),
        ("-3 * 2", ("*", ("-", 3), 2)),
        ("- -a", ("-", ("-", "a"))),
        ("-a.b", ("-", (".", "a", "b"))),
        ("1.foo", (".", 1, "foo")),
    ],
)
def test_precedence(text: str, expected: object) -> None:
    assert shape(value(text)) == expected


def test_words_are_recognised_exactly() -> None:
    for name in ("machineID", "newState", "OODx", "const", "trigger", "desc", "if_", "truely"):
        assert isinstance(value(name), syntax.Variable), name


def test_transition_groups() -> None:
    def groups(text: str) -> tuple[object, ...]:
        found = parse_text(text).declarations[0]
        assert isinstance(found, syntax.Transition)
        sets = (found.requests, found.actions)
        return tuple(each and [name.text for name in each.names] for each in sets)

    assert groups("transition(I, E) {a; b, c d;}") == (None, ["a", "b", "c", "d"])
    assert groups("transition({I J}, E, *) {} {a}") == ([], ["a"])
    assert groups("transition(I, {E;}, I) {r} {}") == (["r"], [])


def test_prototypes_may_list_types_only() -> None:
    function = parse_text("void set(Addr, std::string,);").declarations[0]
    assert isinstance(function, syntax.Function)
    assert [parameter.name for parameter in function.parameters] == [None, None]
    assert function.parameters[1].type.text == "std::string"


def test_first_of_equal_pairs_counts() -> None:
    action = parse_text('action(a, "x", desc="one", desc="two", n=3) { }').declarations[0]
    assert isinstance(action, syntax.Action)
    assert action.pairs.get("desc") == "one"
    assert action.pairs.get("short") == "x"
    assert [pair.kind for pair in action.pairs.items] == ["string", "string", "string", "number"]


def test_spans_reach_from_the_first_to_the_last_token() -> None:
    text = 'action(a, "x") {\n  f(b).c[1] := d + e;\n}\n'
    action = parse_text(text).declarations[0]
    assert isinstance(action, syntax.Action)
    assert action.span.text == text.strip()
    (assign,) = action.body.statements
    assert isinstance(assign, syntax.Assign)
    assert assign.span.text == "f(b).c[1] := d + e;"
    assert assign.target.span.text == "f(b).c[1]"
    assert isinstance(assign.value, syntax.Binary)
    assert assign.value.operator_span.text == "+"
    assert (assign.value.right.span.line, assign.value.right.span.column) == (2, 20)


def test_carriage_returns_are_reported_once() -> None:
    sink = DiagnosticSink()
    assert parse(SourceFile("dos.sm", "int f();\r\nint g();\r\n"), sink) is None
    (found,) = sink.diagnostics
    assert (found.slug, found.help) == (
        "illegal-character",
        "save the file with Unix line ends (LF)",
    )


def test_binary_files_get_one_message() -> None:
    sink = DiagnosticSink()
    assert parse(SourceFile("case.sm", "protocol \x00\x01\x02\ufffd" * 5), sink) is None
    assert len(sink.diagnostics) == 5
    sink = DiagnosticSink()
    assert parse(SourceFile("case.sm", "\x01\ufffd" * 30_000), sink) is None
    assert len(sink.diagnostics) == 1


@pytest.mark.parametrize("text", ["$ ", "foo bar baz\n", "}\n", "'\n"])
def test_a_file_that_is_no_slicc_gets_so_many_messages(text: str) -> None:
    sink = DiagnosticSink()
    assert parse(SourceFile("case.sm", text * 4_000), sink) is None
    assert len(sink.diagnostics) == SHOWN_PER_FILE
    assert sink.diagnostics[-1].notes[-1] == "further mistakes in this file are not reported"


def test_long_chains_are_refused_not_crashed_on() -> None:
    texts = [
        f"int f() {{ return {' + '.join(['1'] * 5000)}; }}",
        f"int f() {{ return {'!' * 5000}a; }}",
        f"int f() {{ return a{'.b' * 5000}; }}",
        f"int f() {{ {'if (a) { } else ' * 5000} {{ }} }}",
        "int f() { return " + "[" * 100_000,
        "{" * 100_000,
    ]
    for text in texts:
        sink = DiagnosticSink()
        assert parse(SourceFile("deep.sm", text), sink) is None
        assert [found.slug for found in sink.diagnostics] == ["nesting-too-deep"]


def test_sixty_thousand_tokens_take_less_than_two_seconds() -> None:
    action = 'action(a_issue, "a") { if (x == y) { enqueue(o, M, 1) { out_msg.Data := d; } } }\n'
    text = action * 2000  # 31 tokens each
    parse_text("")  # the table is not what is measured
    start = time.process_time()  # of this process alone: others may be busy
    assert len(parse_text(text).declarations) == 2000
    assert time.process_time() - start < 2


# ------------------------------------------------------------------ the cached table


_BUILT: list[lark.Lark] = []


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Takes the text of each grammar whose table is built; which is done once for all tests."""
    texts: list[str] = []
    build = grammar_tables._build

    def noted(grammar: str, options: Mapping[str, object], builder: TreeBuilder) -> lark.Lark:
        texts.append(grammar)
        if not _BUILT:
            builder.file = SourceFile("x.sm", "int n;")
            _BUILT.append(build(grammar, options, builder))
        return _BUILT[0]

    monkeypatch.setattr(grammar_tables, "_build", noted)
    return texts


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "slicc"


def parses() -> bool:
    builder = TreeBuilder()
    builder.file = SourceFile("x.sm", "int n;")
    return isinstance(load_parser(builder).parse("int n;"), syntax.Unit)


def test_table_is_stored_privately_and_used(cache: Path, built: list[str]) -> None:
    assert parses()
    (stored,) = cache.iterdir()
    assert stored.stat().st_mode & 0o077 == 0
    assert cache.stat().st_mode & 0o077 == 0
    assert parses()
    assert len(built) == 1


@pytest.mark.parametrize(
    "content", sampled([private_files._FORMAT + b"x" * 100, b"", b"nonsense"], 3)
)
def test_damaged_table_is_built_anew(cache: Path, content: bytes, built: list[str]) -> None:
    assert parses()
    (stored,) = cache.iterdir()
    good = stored.read_bytes()
    stored.write_bytes(content)
    assert parses()
    assert len(built) == 2 and len(stored.read_bytes()) > len(good) // 2


def test_cut_or_changed_table_is_noticed(cache: Path, built: list[str]) -> None:
    assert parses()
    (stored,) = cache.iterdir()
    good = stored.read_bytes()
    for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1])):
        stored.write_bytes(bad)
        assert parses()
    assert len(built) == 3


def test_unusable_cache_directories_are_ignored(cache: Path, built: list[str]) -> None:
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)  # others could put a table there
    assert private_directory() is None
    assert parses() and len(built) == 1
    assert list(cache.iterdir()) == []


def test_cache_that_is_a_link_or_a_file_is_ignored(
    cache: Path, tmp_path: Path, built: list[str]
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    cache.symlink_to(tmp_path / "elsewhere")
    assert private_directory() is None
    cache.unlink()
    cache.write_text("a file")
    assert private_directory() is None
    assert parses() and len(built) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
def test_foreign_cache_is_ignored(
    cache: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parses()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert private_directory() is None
    assert parses() and len(built) == 2
