"""A protocol as texts of modules: prepared views, laid out by templates.

Invariant: the result depends on the IR alone (no clock, no directory, no order of a set), and
everything is in memory: nothing is written here.
"""

from __future__ import annotations

from pathlib import PurePath

from slicc import ir
from slicc.codegen.files import Package as Package
from slicc.codegen.python.definitions import Definitions
from slicc.codegen.python.emit import line_breaks, python_tree
from slicc.codegen.python.emit.python_tree import Code
from slicc.codegen.python.errors import NotInRuntime
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.line_map import Marks, Row, file_name
from slicc.codegen.python.machine import ControllerWriter
from slicc.codegen.python.names import ProtocolNames
from slicc.text import python_source
from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass
from slicc.text.templates import render

LINE_MAP = "linemap.json"
MARKER = "py.typed"

_FLAGS = """\
# A pointer of the protocol may be null, which its language does not track either.
# mypy: no-strict-optional
# The nesting of conditions and the order of fields are the author's.
# ruff: noqa: PLR1730, RUF023, RUF100, SIM102, SIM103, SIM114"""


@dataclass(frozen=True, slots=True)
class TypesView:
    docstring: str
    imports: str
    definitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InitView:
    docstring: str
    imports: str
    arguments: tuple[str, ...]


def package(protocol: ir.Protocol) -> Package:
    """Every file of the package of a protocol. Raises ``NotInRuntime``."""
    names = ProtocolNames(protocol)
    files = {"__init__.py": _render("init.py.jinja", _init_view(protocol, names))}
    rows: dict[str, list[Row]] = {}

    def add(name: str, template: str, view: object, marks: Marks) -> None:
        files[name], rows[name] = marks.strip(_render(template, view))

    marks = Marks()
    add("types.py", "types.py.jinja", _types_view(protocol, names, marks), marks)
    for machine in protocol.machines:
        marks = Marks()
        try:
            view = ControllerWriter(names, machine, marks).view(protocol.name)
        except NotInRuntime as error:
            user = f"machine {machine.name} ({file_name(machine.span)})"
            raise NotInRuntime(error.name, user) from None
        add(f"{view.module}.py", "machine.py.jinja", view, marks)
    files[LINE_MAP] = _line_map(rows)
    files[MARKER] = ""
    return Package(names.package, files)


def _types_view(protocol: ir.Protocol, names: ProtocolNames, marks: Marks) -> TypesView:
    imports = Imports()
    definitions = Definitions(names, imports, marks, None)
    text = f"Enumerations, messages and structures of protocol {protocol.name}."
    note = "The defaults of messages are shared by all of them and never changed in place."
    texts = (
        *[definitions.enumeration(each) for each in protocol.enums if each.ref in names.defined],
        *[definitions.structure(each) for each in protocol.structs if each.ref in names.defined],
    )
    docstring = "\n".join(python_source.docstring(text, 0))
    if docstring.count("\n") == 0:
        docstring = f"{docstring.removesuffix(_QUOTES)}\n\n{note}\n{_QUOTES}"
    return TypesView(docstring, imports.text(), texts)


_QUOTES = '"""'


def _init_view(protocol: ir.Protocol, names: ProtocolNames) -> InitView:
    imports = Imports()
    imports.runtime("ProtocolInfo")
    for machine in protocol.machines:
        imports.add(f".{names.modules[machine.name]}", names.controllers[machine.name])
    sources = dict.fromkeys(PurePath(source).name for source in protocol.sources)
    flags = [python_source.string_literal(each) for each in protocol.request_flags]
    return InitView(
        docstring="\n".join(
            python_source.docstring(
                f"Protocol {protocol.name}, compiled to Python. Edit its sources, not this.", 0
            )
        ),
        imports=imports.text(),
        arguments=(
            _argument("name", Code(python_source.string_literal(protocol.name))),
            _argument(
                "machines", _atoms([names.controllers[each.name] for each in protocol.machines])
            ),
            _argument("sources", _atoms([python_source.string_literal(each) for each in sources])),
            *([] if protocol.atomic_log else [_argument("atomic_log", Code("False"))]),
            *([_argument("request_flags", _atoms(flags))] if flags else []),
        ),
    )


def _atoms(texts: list[str]) -> Code:
    return python_tree.tuple_of(tuple(Code(each) for each in texts))


def _argument(name: str, value: Code) -> str:
    return "\n".join(line_breaks.lines(line_breaks.INDENT, f"{name}=", value.text, ","))


def _line_map(rows: dict[str, list[Row]]) -> str:
    """One line per module, so that a difference shows which one changed."""
    modules = [
        f"{json_text(name)}: {json_text(table, compact=True)}" for name, table in rows.items()
    ]
    return "{\n" + ",\n".join(modules) + "\n}\n"


def _render(template: str, view: object) -> str:
    return render("slicc.codegen.python", template, view=view, flags=_FLAGS)
