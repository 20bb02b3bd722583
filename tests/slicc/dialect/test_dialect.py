"""Older spellings give the very tree that today's spelling of the same thing gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.compiler import compile_text
from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.parser import parse
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from tests.sampling import sampled

CASES = Path(__file__).parent / "cases"

SAME = {
    "commas and values behind =": (
        'machine(L1Cache, "c") : A::B * a, network="To", rank=0, int n = -2, bool f = true { }',
        'machine(MachineType:L1Cache, "c") : A::B * a, network="To", rank=0; int n := -2; '
        "bool f := true; { }",
    ),
    "a comma behind the last": (
        'machine(L1Cache, "c") : int n = 2, { }',
        'machine(MachineType:L1Cache, "c") : int n := 2; { }',
    ),
    "a bare name": (
        'machine(DMA, "d", desc="x") : A * a; { }',
        'machine(MachineType:DMA, "d", desc="x") : A * a; { }',
    ),
    "several types": (
        'machine({L1Cache, L2Cache}, "c") : A * a; { }',
        'machine(MachineType:L1Cache, "c") : A * a; { }',
    ),
    "a class of the library": (
        "external_type(T) { bool f(Address); void g(); }",
        'structure(T, external="yes") { bool f(Address); void g(); }',
    ),
    "the type of a request": (
        "machine(DMA) : A * a; { CacheMsg f(CacheRequestType t) { return A:UserMode; } }",
        "machine(MachineType:DMA) : A * a; { CacheMsg f(RubyRequestType t) { return A:User; } }",
    ),
    "a type of that name elsewhere": (
        "machine(DMA) : A * a; { void f(CacheRequestType t); }",
        "machine(MachineType:DMA) : A * a; { void f(CacheRequestType t); }",
    ),
    "such a class with a pair, in a machine": (
        'machine(DMA) : A * a; { external_type(T, desc="t") { } external_type(U); }',
        "machine(MachineType:DMA) : A * a; {\n"
        '  structure(T, desc="t", external="yes") { } external_type(U); }',
    ),
    "a latency by name": (
        'machine(DMA) : A * a; { action(x, "x") { enqueue(p, T, latency=n) { } } }',
        'machine(MachineType:DMA) : A * a; { action(x, "x") { enqueue(p, T, n) { } } }',
    ),
    "a latency in a string": (
        'action(x, "x") { enqueue(p, T, latency="2 + n") { } }',
        'action(x, "x") { enqueue(p, T, 2 + n) { } }',
    ),
}


def _tree(text: str, name: str = "P.sm") -> tuple[syntax.Unit | None, DiagnosticSink]:
    sink = DiagnosticSink()
    return parse(SourceFile(name, text), sink), sink


@pytest.mark.parametrize("name", SAME)
def test_older_spelling_means_the_same(name: str) -> None:
    older, modern = SAME[name]
    (old_tree, older_sink), (new_tree, modern_sink) = _tree(older), _tree(modern)
    assert new_tree is not None
    assert not modern_sink.diagnostics
    assert old_tree == new_tree
    assert {found.slug for found in older_sink.diagnostics} == {"older-dialect"}


def test_a_driver_may_list_files() -> None:
    unit, sink = _tree("// all of it\nA-msg.sm\nA-cache.sm  B.slicc\n# see C.sm\n", "A.slicc")
    assert unit is not None
    assert [one.path.value for one in unit.declarations if isinstance(one, syntax.Include)] == [
        "A-msg.sm",
        "A-cache.sm",
        "B.slicc",
    ]
    assert [found.primary.span.line for found in sink.diagnostics] == [2]


def test_mistakes_in_an_older_text_are_the_only_ones_reported() -> None:
    """The header is no mistake, and does not hide the missing semicolon behind it."""
    text = 'machine(L1Cache, "c") : int n = 2 {\n  int m\n  int k;\n}\n'
    unit, sink = _tree(text)
    assert unit is None
    assert [(found.slug, found.primary.span.line) for found in sink.diagnostics] == [
        ("missing-semicolon", 2)
    ]


@pytest.mark.parametrize("first", sampled(range(0, 388, 97), 4))
def test_no_cut_of_an_older_text_breaks_the_compiler(first: int) -> None:
    text = (CASES / "older_header.sm").read_text(encoding="utf-8")
    for end in range(first, len(text), 388):
        sink = DiagnosticSink()
        compile_text(text[:end], sink)
        assert end == 0 or sink.diagnostics
