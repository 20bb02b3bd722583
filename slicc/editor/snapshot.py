"""One protocol as it was last understood: its names, sorted by place, and its machines.

Invariant: a snapshot never changes, but for the analysis that is added once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from slicc import ir
from slicc.diagnostics.model import Diagnostic
from slicc.editor.positions import real
from slicc.editor.senders import Senders
from slicc.loading.loader import LoadedProtocol
from slicc.resolve.index import Index
from slicc.resolve.scope.uses import NameKind, Use
from slicc.source import BUILTIN, SourceFile, Span
from slicc.syntax import nodes as syntax


@dataclass
class Snapshot:
    """``valid``: the texts have no errors. ``found``: what the compiler reports."""

    loaded: LoadedProtocol
    index: Index
    found: tuple[Diagnostic, ...]
    valid: bool
    analysis: tuple[Diagnostic, ...] | None = field(default=None)

    @property
    def protocol(self) -> ir.Protocol | None:
        """The typed protocol, with gaps where its texts have errors."""
        return self.index.protocol

    @cached_property
    def sources(self) -> dict[str, SourceFile]:
        """The texts by real path."""
        return {real(source.name): source for source in self.loaded.sources}

    @cached_property
    def _by_file(self) -> dict[str, tuple[list[int], list[Use]]]:
        """By name of the file, the uses in order of place."""
        files: dict[str, dict[tuple[int, int], Use]] = {}
        for use in (*self.index.uses.found, *_includes(self.loaded.declarations)):
            if use.span.end > use.span.start:
                place = (use.span.start, use.span.end)
                files.setdefault(use.span.file.name, {}).setdefault(place, use)
        ordered = {name: sorted(uses.items()) for name, uses in files.items()}
        return {
            name: ([place[0] for place, _ in items], [use for _, use in items])
            for name, items in ordered.items()
        }

    @cached_property
    def _by_target(self) -> dict[tuple[str, int], list[Use]]:
        found: dict[tuple[str, int], list[Use]] = {}
        for _, uses in self._by_file.values():
            for use in uses:
                found.setdefault((use.target.file.name, use.target.start), []).append(use)
        return found

    @cached_property
    def senders(self) -> Senders | None:
        """Who sends what."""
        return None if self.protocol is None else Senders(self.protocol)

    def prepare(self) -> None:
        """Do what the first requests would have to wait for."""
        _ = self._by_target, self._regions, self.senders

    def use_at(self, path: str, offset: int) -> Use | None:
        """The name that a place belongs to; right behind its end counts, too."""
        source = self.sources.get(path)
        if source is None or source.name not in self._by_file:
            return None
        starts, uses = self._by_file[source.name]
        position = bisect_right(starts, offset)
        for use in reversed(uses[max(0, position - 3) : position]):
            if use.span.start <= offset <= use.span.end:
                return use
        return None

    def references(self, target: Span) -> list[Use]:
        """All uses of what is declared at a place, the declaration among them."""
        if target.file is BUILTIN:
            return []
        return self._by_target.get((target.file.name, target.start), [])

    # ------------------------------------------------------------------ machines

    @cached_property
    def _regions(self) -> list[tuple[str, int, int, str]]:
        """Real path, start, end and name of every stretch of text inside a machine."""
        return list(_regions(self.loaded.declarations))

    def machine_at(self, path: str, offset: int) -> str | None:
        """The machine that a place belongs to."""
        for file, start, end, name in self._regions:
            if file == path and start <= offset <= end:
                return name
        return None

    def machine(self, name: str | None) -> ir.Machine | None:
        """The machine of that name, as far as it was understood."""
        machines = () if self.protocol is None else self.protocol.machines
        return next((machine for machine in machines if machine.name == name), None)


def _regions(declarations: Iterable[syntax.Declaration]) -> Iterator[tuple[str, int, int, str]]:
    for node in declarations:
        if isinstance(node, syntax.Machine):
            name = node.type.member.text
            yield (real(node.span.file.name), node.span.start, node.span.end, name)
            yield from _included(node.body, name)
        elif isinstance(node, syntax.Include):
            yield from _regions(node.body or ())


def _includes(declarations: Iterable[syntax.Declaration]) -> Iterator[Use]:
    """Names of included files, which lead to their beginnings."""
    for node in declarations:
        if isinstance(node, syntax.Machine):
            yield from _includes(node.body)
        elif isinstance(node, syntax.Include) and node.body:
            yield Use(node.path.span, Span(node.body[0].span.file, 0, 0), NameKind.FILE)
            yield from _includes(node.body)


def _included(
    declarations: Iterable[syntax.Declaration], name: str
) -> Iterator[tuple[str, int, int, str]]:
    """Files that a machine includes belong to it as a whole."""
    for node in declarations:
        if isinstance(node, syntax.Include) and node.body:
            source = node.body[0].span.file
            yield (real(source.name), 0, len(source.text), name)
            yield from _included(node.body, name)
