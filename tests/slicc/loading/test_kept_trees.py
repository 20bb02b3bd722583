"""Trees kept between runs: the same as parsed ones, and for their very text only."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from slicc.compiler import compile
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir.printer import print_protocol
from slicc.loading import kept_trees, texts
from slicc.loading.kept_trees import LEAST, keep_tree, kept_tree
from slicc.loading.texts import Trees
from slicc.parser.parser import parse
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax

FILE = Path("/anywhere/x.sm")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "slicc"


def long_text(name: str, more: str = "") -> SourceFile:
    source = (shipped()["MSI"].parent / "MSI-cache.sm").read_text(encoding="utf-8")
    assert len(source) > LEAST
    return SourceFile(name, source + more)


def tree_of(source: SourceFile) -> syntax.Unit:
    unit = parse(source, DiagnosticSink())
    assert unit is not None
    return unit


def test_a_kept_tree_is_the_parsed_one(place: Path) -> None:
    source = long_text("x.sm")
    unit = tree_of(source)
    assert kept_tree(FILE, source) is None
    keep_tree(FILE, source, unit)
    kept = kept_tree(FILE, source)
    assert kept is not None
    assert kept == unit
    assert [str(each.span) for each in kept.declarations] == [
        str(each.span) for each in unit.declarations
    ]


def test_a_tree_is_of_one_text_under_one_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = long_text("x.sm")
    keep_tree(FILE, source, tree_of(source))
    assert kept_tree(FILE, long_text("x.sm", " ")) is None
    assert kept_tree(FILE, long_text("y.sm")) is None
    assert kept_tree(FILE.with_name("y.sm"), source) is None
    assert kept_tree(FILE, source) is not None
    monkeypatch.setattr(kept_trees, "_version", lambda: b"another parser")
    assert kept_tree(FILE, source) is None


def test_only_what_is_whole_is_used(place: Path) -> None:
    source = long_text("x.sm")
    keep_tree(FILE, source, tree_of(source))
    (stored,) = place.glob("tree-*")
    good = stored.read_bytes()
    for bad in (good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b""):
        stored.write_bytes(bad)
        assert kept_tree(FILE, source) is None
    stored.write_bytes(good)
    stored.chmod(0o666)
    assert kept_tree(FILE, source) is None


def test_trees_are_counted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_trees, "_MOST", 3)
    source = long_text("x.sm")
    unit = tree_of(source)
    for number in range(5):
        keep_tree(FILE.with_name(f"{number}.sm"), source, unit)
    assert len([*place.glob("tree-*")]) == 3
    assert kept_tree(FILE.with_name("4.sm"), source) is not None
    assert kept_tree(FILE.with_name("0.sm"), source) is None


def test_short_texts_and_those_with_errors_are_parsed_again(place: Path) -> None:
    short = SourceFile("x.sm", "int n;")
    wrong = long_text("x.sm", "\nmachine oops")
    for source in (short, wrong):
        assert (Trees().of(FILE, source).unit is None) == (source is wrong)
        assert [*place.glob("tree-*")] == []


def test_only_the_edited_file_is_parsed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def noted(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
        parsed.append(Path(source.name).name)
        return parse(source, sink)

    root = place.parent / "edited"
    root.mkdir()
    for path in shipped()["MSI"].parent.glob("MSI*"):
        (root / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(texts, "parse", noted)
    first = compile(root / "MSI.slicc")
    large = [name for name in parsed if (root / name).stat().st_size > LEAST]
    assert len(large) > 1
    parsed.clear()
    edited = root / "MSI-cache.sm"
    edited.write_text(edited.read_text(encoding="utf-8") + "// edited\n", encoding="utf-8")
    second = compile(root / "MSI.slicc")
    assert [name for name in parsed if name in large] == ["MSI-cache.sm"]
    assert print_protocol(first.protocol) == print_protocol(second.protocol)
