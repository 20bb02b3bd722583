"""Contents and trees of files, each read and parsed once.

Commands read every file anew. An editor keeps :class:`Trees` between two compilations, and trees
of large texts are kept between two runs (``kept_trees``), so that only a file whose text changed
is parsed again. Invariant: what a tree reported when it was made is reported again with every use
of it in another compilation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from slicc.diagnostics.model import Diagnostic, DiagnosticSink, Severity
from slicc.loading.kept_trees import keep_tree, kept_tree
from slicc.loading.reader import Unreadable, decode, read_bytes, real_path
from slicc.parser.parser import parse, parse_partially
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed text. ``unit`` is None if there is none; ``found``: what is wrong with it."""

    source: SourceFile
    unit: syntax.Unit | None
    found: tuple[Diagnostic, ...]

    @property
    def complete(self) -> bool:
        """Whether the text has no errors."""
        return all(each.severity is not Severity.ERROR for each in self.found)


@dataclass(slots=True)
class Trees:
    """The trees of the last texts, by file. ``partial``: also of texts with syntax errors."""

    partial: bool = False
    _kept: dict[Path, Tree] = field(default_factory=dict)

    def last(self, path: Path) -> Tree | None:
        """The last tree of a file, if there was one."""
        return self._kept.get(path)

    def of(self, path: Path, source: SourceFile) -> Tree:
        """The tree of a text; parsed if it is not the last one of that file."""
        kept = self._kept.get(path)
        if kept is None or (kept.source.name, kept.source.text) != (source.name, source.text):
            kept = self._kept[path] = self._tree(path, source)
        return kept

    def _tree(self, path: Path, source: SourceFile) -> Tree:
        unit = kept_tree(path, source)
        if unit is not None:
            return Tree(source, unit, ())
        sink = DiagnosticSink()
        unit = (parse_partially if self.partial else parse)(source, sink)
        if unit is not None and not sink.diagnostics and not self.partial:
            keep_tree(path, source, unit)  # an editor would write with every key
        return Tree(source, unit, tuple(sink.diagnostics))


class Texts:
    """Contents and trees by real path, so that drivers sharing a file read it once.

    ``held``: contents that count instead of those on the disk. ``trees`` outlive the compilation.
    """

    def __init__(
        self,
        sink: DiagnosticSink,
        held: Mapping[Path, bytes] | None = None,
        trees: Trees | None = None,
    ) -> None:
        self._sink = sink
        self._trees = Trees() if trees is None else trees
        self._contents: dict[Path, bytes | Unreadable] = dict(held or {})
        self._sources: dict[Path, SourceFile | None] = {}
        self._used: dict[Path, Tree] = {}

    def hold(self, path: Path, content: bytes) -> None:
        """Let a file have this content instead of that on the disk."""
        self._contents[real_path(path)] = content

    def content(self, path: Path) -> bytes:
        """Raises :class:`Unreadable`."""
        key = real_path(path)
        if key not in self._contents:
            try:
                self._contents[key] = read_bytes(path)
            except Unreadable as error:
                self._contents[key] = error
        content = self._contents[key]
        if isinstance(content, Unreadable):
            raise content
        return content

    def source(self, path: Path, display: str) -> SourceFile | None:
        """Raises :class:`Unreadable`; None if it is no text (reported)."""
        key = real_path(path)
        if key not in self._sources:
            source = decode(display, self.content(path), self._sink)
            self._sources[key] = None if source is None else self._trees.of(key, source).source
        return self._sources[key]

    def tree(self, path: Path, source: SourceFile) -> Tree:
        """The tree; what is wrong with it is reported once."""
        key = real_path(path)
        if key not in self._used:
            self._used[key] = self._trees.of(key, source)
            for found in self._used[key].found:
                self._sink.add(found)
        return self._used[key]
