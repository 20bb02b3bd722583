"""The tables of the prelude: readable, closed under their own names, and true to the runtime."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import runtime
from slicc import ir, prelude
from slicc.prelude.functions import PAIR_TEXT_FUNCTIONS
from slicc.prelude.signature import Flag, Home, Signature
from slicc.resolve.library.builtin_symbols import Library
from slicc.resolve.scope.symbols import TypeKind

PSEUDO_TYPES = {"any", "element", "void"}
MACHINE_TYPES = {"Event", "State", "TBE", "RequestType"}

METHODS = [
    (name, line)
    for table in (prelude.CLASSES, prelude.STRUCTURES)
    for name, row in table.items()
    for line in row.methods
]
FUNCTIONS = [
    (row.home, line)
    for row in (*prelude.FUNCTIONS.values(), *PAIR_TEXT_FUNCTIONS.values())
    for line in row.lines
]


def _types(signature: Signature) -> list[str]:
    return [*(p.type for p in signature.parameters), signature.result]


def test_every_type_in_a_signature_is_known() -> None:
    library = Library()
    known = PSEUDO_TYPES | MACHINE_TYPES
    lines = [line for _, line in METHODS] + [line for _, line in FUNCTIONS]
    for line in lines:
        for name in _types(prelude.parse_signature(line)):
            assert name in known or library.find(name) is not None, line


def test_signature_parts() -> None:
    found = prelude.parse_signature("at(int, T!, now) -> bool& [set_at] = item ; mutates")
    assert (found.name, found.python, found.setter) == ("at", "item", "set_at")
    assert found.by_reference
    assert found.flags == {Flag.MUTATES}
    assert [p.mutated for p in found.parameters] == [False, True, False]
    assert [p.dropped for p in found.parameters] == [False, False, True]
    assert found.parameters[2].type == "Tick"


def test_malformed_signatures_are_refused() -> None:
    with pytest.raises(ValueError, match="malformed"):
        prelude.parse_signature("no parentheses")


def test_defaults_of_enumerations_are_members() -> None:
    for name, row in prelude.ENUMERATIONS.items():
        members = row.names()
        assert len(set(members)) == len(members), name
        assert row.default is None or row.default in members, name


def test_library_types_are_made_on_demand() -> None:
    library = Library()
    before = len(library.types)
    symbol = library.find("MemoryMsg")
    assert symbol is not None
    assert symbol.kind is TypeKind.MESSAGE
    assert symbol.fields["DataBlk"].type == ir.ClassType("DataBlock", value=True)
    assert len(library.types) > before
    assert library.find("NoSuchType") is None


def test_importing_the_prelude_reads_no_signature() -> None:
    code = (
        "import slicc.prelude as p, sys;"
        "assert p.parse_signature.cache_info().currsize == 0;"
        "assert 'lark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------ against the runtime


def _runtime_names() -> dict[str, object]:
    found: dict[str, object] = {}
    for module in pkgutil.walk_packages(runtime.__path__, "runtime."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(name, value)
    return found


def _takes(function: object, count: int) -> bool:
    """Whether a call with that many arguments fits; slots and builtins cannot be asked."""
    if not inspect.isfunction(function):
        return True
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def test_methods_exist_in_the_runtime_classes_that_are_there() -> None:
    names = _runtime_names()
    missing = []
    for owner, line in METHODS:
        runtime_class = names.get(owner)
        if runtime_class is None or owner in prelude.STRUCTURES:
            continue
        signature = prelude.parse_signature(line)
        count = 1 + sum(not p.dropped for p in signature.parameters)
        count += Flag.CONTROLLER in signature.flags
        method = getattr(runtime_class, signature.python, None)
        if method is None or not _takes(method, count):
            missing.append(f"{owner}.{line}")
    assert missing == []


def test_controller_functions_exist_in_the_runtime() -> None:
    controller = _runtime_names()["Controller"]
    missing = [
        line
        for home, line in FUNCTIONS
        if home is Home.CONTROLLER
        and Flag.CAST not in prelude.parse_signature(line).flags
        and not hasattr(controller, prelude.parse_signature(line).python)
    ]
    assert missing == []


def test_library_enumerations_are_numbered_as_in_the_runtime() -> None:
    names = _runtime_names()
    compared = 0
    for name, row in prelude.ENUMERATIONS.items():
        runtime_class = names.get(name)
        members = getattr(runtime_class, "members", None)
        if members is not None:
            assert tuple(members()) == row.names(), name
            compared += 1
    assert compared >= 10
