"""Names: the author's where possible, and never in the way of Python or the runtime."""

from __future__ import annotations

import importlib
import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.controller.shapes import (
    EntryController,
    EntryTbeController,
    PlainController,
    TbeController,
)
from runtime.structures.cache_memory import AbstractCacheEntry
from runtime.types.enumeration import Enumeration
from runtime.types.message import Message
from slicc.codegen.python import runtime_names
from slicc.codegen.python.names import Namespace, snake
from slicc.prelude import CLASSES, FUNCTIONS, Home
from tests.slicc.codegen.tools import ROOT

IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)


def public(kind: type) -> set[str]:
    """Attributes of a class and of its instances as far as slots and annotations name them."""
    names = set(dir(kind))
    for base in kind.__mro__:
        names |= set(getattr(base, "__annotations__", ()))
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MI", "mi"),
        ("L1Cache", "l1cache"),
        ("CorePair", "core_pair"),
        ("GPU_VIPER", "gpu_viper"),
        ("MI example-2", "mi_example_2"),
        ("../../etc", "etc"),
        ("3", "p_3"),
        ("", "p_"),
    ],
)
def test_modules_are_named_in_snake_case(name: str, expected: str) -> None:
    assert snake(name) == expected


@given(st.lists(st.one_of(IDENTIFIERS, st.sampled_from(keyword.kwlist)), max_size=12))
def test_claimed_names_are_usable_and_different(wanted: list[str]) -> None:
    scope = Namespace(["self", "t"])
    names = [scope.claim(name) for name in wanted]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert name not in {"self", "t"}
        assert not name.startswith("_")


def test_every_runtime_name_exists() -> None:
    for name, module in runtime_names.RUNTIME_MODULES.items():
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_the_runtime_base_is_reserved() -> None:
    offered = set().union(
        *map(public, (EntryTbeController, TbeController, EntryController, PlainController))
    )
    known = runtime_names.CONTROLLER_ATTRIBUTES | runtime_names.CONTROLLER_HOOKS
    assert offered - known == set()
    assert public(Message) - runtime_names.MESSAGE_ATTRIBUTES == set()
    assert public(AbstractCacheEntry) - runtime_names.ENTRY_ATTRIBUTES == set()
    assert public(Enumeration) - runtime_names.ENUMERATION_ATTRIBUTES == set()


def test_nothing_that_the_runtime_offers_is_refused() -> None:
    """A class or function of the language that exists in the runtime must be listed."""
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "runtime").glob("*.py"))
    )
    defined = set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))
    free = {name for name, row in FUNCTIONS.items() if row.home is Home.LIBRARY}
    assert (set(CLASSES) | free) & defined - set(runtime_names.RUNTIME_MODULES) == set()
