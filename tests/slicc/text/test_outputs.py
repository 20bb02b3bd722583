"""Every output for one protocol, with harmless names and with hostile ones: only texts differ.

Names of states, events and machines are identifiers by the grammar; what may hold anything are
names of files and folders, and descriptions.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from slicc import book
from slicc.book.book import Contents, single_page
from slicc.book.state_diagram import state_diagram
from slicc.book.transition_table import protocol_page
from slicc.codegen import cpp, python
from slicc.codegen.cpp.machine_shape import shape_text
from slicc.codegen.cpp.package import package as native_package
from slicc.codegen.python.package import package as python_package
from slicc.ir.printer import print_protocol
from slicc.text.data import script_json
from tests.compiling import compile_unit
from tests.slicc.text.hostile import EVERY, HARMLESS, Compiled, compiled

hostile = pytest.mark.parametrize("text", EVERY)


@cache
def made(text: str) -> Compiled:
    with TemporaryDirectory() as directory:
        return compiled(Path(directory), text)


def assert_inert(source: str) -> None:
    assert source.replace("\n", "").isprintable()


# ------------------------------------------------------------------ Python


def statements(source: str) -> str:
    """The syntax tree without what strings say."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "text"
    return ast.dump(tree)


@hostile
def test_python_has_the_same_statements(text: str) -> None:
    files, harmless = (python_package(made(each).protocol).files for each in (text, HARMLESS))
    assert list(files) == list(harmless)
    for name in files:
        assert_inert(files[name])
        if name.endswith(".py"):
            assert statements(files[name]) == statements(harmless[name])


@hostile
def test_python_keeps_the_texts(text: str) -> None:
    files = python_package(made(text).protocol).files
    texts = [
        node.value
        for node in ast.walk(ast.parse(files["__init__.py"]))
        if isinstance(node, ast.Constant)
    ]
    assert made(text).machine_file in texts


@hostile
def test_lines_are_traced_to_the_same_places(text: str) -> None:
    """No name forges or swallows a mark of the writer, in either backend."""

    def places(each: Compiled) -> list[object]:
        names = {each.machine_file: "machine", each.transition_file: "transitions"}
        tables = json.loads(python_package(each.protocol).files["linemap.json"])
        rows = [row[1:] for table in tables.values() for row in table]
        rows += json.loads(native_package(each.protocol).files["sites.json"])
        # One statement may take several lines of its own; they come from one place.
        found = dict.fromkeys((names.get(row[0], row[0]), *row[1:]) for row in rows)
        return list(found)

    assert places(made(text)) == places(made(HARMLESS))


# ------------------------------------------------------------------ C++

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERAL_OR_COMMENT = re.compile(f"{_STRING.pattern}|{_COMMENT.pattern}", re.DOTALL)


def tokens(source: str) -> list[str]:
    """Tokens of C++ but for comments, what strings say and line numbers, which comments move."""
    code = _LITERAL_OR_COMMENT.sub(lambda each: '""' if each[0][0] == '"' else " ", source)
    code = re.sub(r"(?m)^#line \d+", "#line 0", code)
    return re.findall(r"\w+|[^\w\s]", code)


@hostile
def test_native_code_has_the_same_tokens(text: str) -> None:
    files, harmless = (native_package(made(each).protocol).files for each in (text, HARMLESS))
    assert list(files) == list(harmless)
    for name in files:
        assert_inert(files[name])
        assert not any(line.rstrip().endswith(("\\", "??/")) for line in files[name].split("\n"))
        if name.endswith((".hpp", ".cpp")):
            assert tokens(files[name]) == tokens(harmless[name])
    assert_inert(shape_text(made(text).protocol))


def test_a_file_name_is_not_compiled(tmp_path: Path) -> None:
    """A lone carriage return ends a comment of C++, and what follows it was code."""
    planted = 'int planted() { return "1"[0]; }'  # quotes have a backslash in a literal
    name = f"a\r{planted}\r#define behind "
    with TemporaryDirectory() as directory:
        files = native_package(compiled(Path(directory), name).protocol).files
    for each, content in files.items():
        (tmp_path / each).write_text(content, encoding="utf-8", newline="")
    code = compile_unit(tmp_path / "protocol.cpp", flags=("-E",)).read_text(encoding="utf-8")
    assert "struct " in code and planted not in code


# ------------------------------------------------------------------ pages and pictures


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *[name for name, _ in attrs]))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        raise AssertionError("an unexpected comment")


def _book(of: Compiled) -> str:
    return single_page(Contents(protocol=of.protocol, sources=of.sources)).decode()


@hostile
@pytest.mark.parametrize("write", [lambda of: protocol_page(of.protocol, of.sources), _book])
def test_a_page_has_the_same_tags(text: str, write: Callable[[Compiled], str]) -> None:
    page, harmless = (write(made(each)) for each in (text, HARMLESS))
    assert _Tags(page).tags == _Tags(harmless).tags
    assert not set(page) & set("\r\x00\x07\x1b\x1f\x9b\u2028\u202e\u2066")


_DOT_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_DOT_HTML = re.compile(r"=<(<.*?>)>(?=[ \]])", re.DOTALL)


@hostile
def test_a_graph_has_the_same_structure(text: str) -> None:
    def source(each: str) -> str:
        """Without Graphviz's tabs, and blanks that part what some versions replace twice."""
        text = state_diagram(made(each).protocol.machines[0], "Frame").source
        return str(text).replace("\u200b", "").replace("\n\t", "\n")

    def structure(each: str) -> list[object]:
        found: list[object] = [_Tags(label).tags for label in _DOT_HTML.findall(source(each))]
        return [*found, _DOT_STRING.sub('""', _DOT_HTML.sub("=", source(each)))]

    assert structure(text) == structure(HARMLESS)
    assert_inert(source(text))


@hostile
def test_the_intermediate_form_has_the_same_lines(text: str) -> None:
    def lines(each: str) -> list[str]:
        return [_STRING.sub('""', line) for line in print_protocol(made(each).protocol).split("\n")]

    assert lines(text) == lines(HARMLESS)
    assert_inert(print_protocol(made(text).protocol))


# ------------------------------------------------------------------ completeness


def test_every_template_is_driven() -> None:
    """Those of the packages above; a new one needs a test here."""
    folders = [Path(each.__file__ or "").parent for each in (python, cpp, book)]
    found = {path.name for folder in folders for path in (folder / "templates").glob("*")}
    assert found == {
        *("init.py.jinja", "types.py.jinja", "machine.py.jinja"),
        *("protocol.cpp.jinja", "types.hpp.jinja", "machine.hpp.jinja", "encoding.hpp.jinja"),
        *("table.html.jinja", "parts.html.jinja"),
        *("page.html.jinja", "overview.html.jinja", "machine.html.jinja", "file.html.jinja"),
    }


@hostile
def test_json_in_a_script_element_ends_nothing(text: str) -> None:
    value = {text: [text, "</script><!-- &amp; ]]>"]}
    written = script_json(value)
    assert json.loads(written) == value
    assert written.isascii() and not re.search("[<>&]", written)
