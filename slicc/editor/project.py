"""The protocols that open files belong to, compiled as often as their texts change.

Only files whose text changed are parsed again, only protocols that include such a file are resolved
again. Invariant: nothing here raises for any content of any file; a protocol that cannot be
understood any more keeps its last snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from slicc.analysis import analyse
from slicc.analysis.allowances import without_allowed
from slicc.compiler import compile_loaded
from slicc.diagnostics.model import Diagnostic, DiagnosticSink
from slicc.editor.positions import real
from slicc.editor.snapshot import Snapshot
from slicc.loading.checkout import LIBRARY_FILES
from slicc.loading.loader import LoadedProtocol, load
from slicc.loading.reader import CannotRead
from slicc.loading.texts import Texts, Trees
from slicc.resolve.index import Index
from slicc.resolve.library.user_library import UserPrelude, read_preludes
from slicc.text.lazy_dataclass import dataclass

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Project:
    """Open files by real path, and what is known of their protocols."""

    include: Sequence[Path] = ()
    preludes: Sequence[Path] = ()
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    """By real path of the driver, in the order in which they were first seen."""
    syntax_errors: tuple[Diagnostic, ...] = ()
    """What reading and parsing reported."""
    trees: Trees = field(default_factory=lambda: Trees(partial=True))

    def compile(self, opened: Mapping[str, str]) -> None:
        """Understand the protocols of the open files anew, as far as they changed."""
        sink = DiagnosticSink()
        held = {Path(name): text.encode("utf-8", "replace") for name, text in opened.items()}
        kept: dict[str, Snapshot] = {}
        found: dict[str, LoadedProtocol] = {}
        for name in opened:
            try:
                texts = Texts(sink, held, self.trees)
                for loaded in load([Path(name)], self.include, sink, LIBRARY_FILES, texts):
                    found.setdefault(real(str(loaded.path)), loaded)
            except CannotRead as error:
                _LOG.info("%s", error)
        prelude = self._prelude()
        for driver, loaded in found.items():
            snapshot = self._snapshot(driver, loaded, prelude)
            if snapshot is not None:
                kept[driver] = snapshot
        self.syntax_errors = tuple(sink.diagnostics)
        self.snapshots = kept

    def _prelude(self) -> UserPrelude | None:
        try:
            return read_preludes(self.preludes, DiagnosticSink())
        except CannotRead as error:
            _LOG.warning("%s", error)
            return None

    def _snapshot(
        self, driver: str, loaded: LoadedProtocol, prelude: UserPrelude | None
    ) -> Snapshot | None:
        last = self.snapshots.get(driver)
        if last is not None and _same_texts(last.loaded, loaded):
            return last
        sink, index = DiagnosticSink(), Index()
        try:
            extensions = None if prelude is None else prelude.extensions
            protocol = compile_loaded(loaded, sink, extensions, index)
            fresh = Snapshot(loaded, index, tuple(sink.diagnostics), protocol is not None)
            fresh.prepare()
        except Exception:  # a text half-written in a way that the compiler does not foresee
            _LOG.exception("cannot understand %s", driver)
            return last
        return fresh

    def analyse(self) -> bool:
        """Look for mistakes of the protocols; True if anything was looked at."""
        fresh = [each for each in self.snapshots.values() if each.valid and each.analysis is None]
        for snapshot in fresh:
            assert snapshot.protocol is not None
            try:
                snapshot.analysis = tuple(analyse(snapshot.protocol))
            except Exception:
                _LOG.exception("cannot analyse %s", snapshot.loaded.path)
                snapshot.analysis = ()
        return bool(fresh)

    def findings(self) -> list[Diagnostic]:
        """All findings that are not allowed, each once."""
        found: dict[Diagnostic, None] = dict.fromkeys(self.syntax_errors)
        for snapshot in list(self.snapshots.values()):
            reported = (*snapshot.found, *(snapshot.analysis or ()))
            left, invalid = without_allowed(reported, snapshot.loaded.sources)
            found |= dict.fromkeys((*left, *invalid))
        return list(found)

    def of(self, path: str) -> list[Snapshot]:
        """The protocols that a file belongs to."""
        return [each for each in list(self.snapshots.values()) if path in each.sources]


def _same_texts(last: LoadedProtocol, loaded: LoadedProtocol) -> bool:
    return len(last.sources) == len(loaded.sources) and all(
        a.name == b.name and a.text == b.text for a, b in zip(last.sources, loaded.sources)
    )
