"""Reads user libraries: prelude files, and the library files of a checkout.

Invariant: mistakes in a prelude are reported like those in any other file; mistakes in the library
of a checkout are not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slicc.diagnostics.model import DiagnosticSink
from slicc.loading.checkout import LIBRARY_PATTERN, library_files
from slicc.loading.reader import CannotRead, Unreadable, decode, read_bytes
from slicc.parser.parser import parse
from slicc.resolve.library.extensions import Extensions
from slicc.source import SourceFile
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
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
            is_library = path.match(LIBRARY_PATTERN)
            extensions.add(unit.declarations, None if is_library else sink)
    return UserPrelude(extensions, tuple(sources), sink.error_count == errors)


def read_library(driver: Path) -> Extensions:
    """What the library files of the checkout that contains a driver add to ours."""
    extensions = Extensions()
    for path in library_files(driver):
        unheard = DiagnosticSink()
        try:
            source = decode(str(path), read_bytes(path), unheard)
        except Unreadable:
            continue
        unit = None if source is None else parse(source, unheard)
        if unit is not None:
            extensions.add(unit.declarations, None)
    return extensions
