"""Reads user libraries: prelude files, and the library files of a checkout.

Invariant: mistakes in a prelude are reported like those in any other file; mistakes in the library
of a checkout are not reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from slicc.diagnostics.model import DiagnosticSink
from slicc.loading.reader import CannotRead, Unreadable, decode, read_bytes
from slicc.parser.parser import parse
from slicc.resolve.library.extensions import Extensions
from slicc.source import SourceFile

_LIBRARY_PATTERN = "RubySlicc_*.sm"


@dataclass(frozen=True)
class UserPrelude:
    """``complete`` is False if a file had errors (reported)."""

    extensions: Extensions
    sources: tuple[SourceFile, ...]
    complete: bool


def read_preludes(paths: Sequence[Path], sink: DiagnosticSink) -> UserPrelude:
    """The declarations of all files. Raises :class:`CannotRead` if one does not exist."""
    extensions = Extensions()
    sources = []
    errors = sink.error_count
    for path in paths:
        try:
            content = read_bytes(path)
        except Unreadable as error:
            raise CannotRead(f"cannot read the prelude {path}: {error}") from None
        source = decode(str(path), content, sink)
        unit = None if source is None else parse(source, sink)
        if source is not None and unit is not None:
            sources.append(source)
            # A library's own file also declares what every controller has: not reported.
            is_library = path.match(_LIBRARY_PATTERN)
            extensions.add(unit.declarations, None if is_library else sink)
    return UserPrelude(extensions, tuple(sources), sink.error_count == errors)


def read_library(driver: Path, names: Collection[str]) -> Extensions:
    """The types that the library files beside a driver, or above it, add to ours."""
    extensions = Extensions()
    for folder in dict.fromkeys((driver.parent, driver.parent.parent)):
        files = sorted(folder.glob(_LIBRARY_PATTERN))
        if not any(path.name in names for path in files):
            continue
        for path in files:
            unheard = DiagnosticSink()
            try:
                source = decode(str(path), read_bytes(path), unheard)
            except Unreadable:
                continue
            unit = None if source is None else parse(source, unheard)
            if unit is not None:
                extensions.add_types(unit.declarations)
        break
    return extensions
