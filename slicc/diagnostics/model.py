"""A diagnostic is a value; rendering it is the job of other modules.

The shape follows the needs of a reader: what is wrong (headline), where (primary label), what
else belongs to it (secondary labels), what to know (notes) and what to do (help).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from itertools import islice

from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

SHOWN_PER_FILE = 100
"""Errors (and warnings) shown per file; the others are counted."""
PLACES_SHOWN = 12
"""Further places shown of one finding; an author who corrects these will search for the rest."""

ALSO_HERE = "also here"
"""The label of a further place of one finding."""

Help = str | Callable[[], str | None] | None
"""What to do about a finding; a function is called only if the finding is shown."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A span and a text about it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``slug`` is a key of ``slicc.diagnostics.registry.CODES``."""

    slug: str
    severity: Severity
    headline: str
    primary: Label
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many findings of a file are not shown."""

    file: str
    errors: int
    warnings: int


class DiagnosticSink:
    """Collects findings. Passes report here and continue.

    Of each file the first findings are shown, in the order in which they were found: later ones
    often follow from them. Invariant: the cost of a finding that is not shown does not depend on
    the size of the file or on other findings.
    """

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        """In the order in which they were found; also those that are not shown."""
        self._reported: set[Diagnostic] = set()
        self._counts: Counter[tuple[str, Severity]] = Counter()
        self._files: dict[str, int] = {}

    def reading(self, file: str) -> None:
        """Note that a file is read now: findings are shown in the order in which files are read."""
        self._files.setdefault(file, len(self._files))

    def in_source_order(self) -> list[Diagnostic]:
        """The findings that are shown: by file in reading order, each from top to bottom."""
        last = len(self._files)  # what no file contains
        shown = []
        counts: Counter[tuple[str, Severity]] = Counter()
        for found in self.diagnostics:
            counts[_kind(found)] += 1
            if counts[_kind(found)] <= SHOWN_PER_FILE:
                shown.append(found)

        def place(found: Diagnostic) -> tuple[int, int]:
            span = found.primary.span
            return self._files.get(span.file.name, last), span.start

        return sorted(shown, key=place)

    def left_out(self) -> list[LeftOut]:
        """Numbers of findings that are not shown, by file."""
        found = []
        for file in dict.fromkeys(name for name, _ in self._counts):
            errors, warnings = (
                max(0, self._counts[file, severity] - SHOWN_PER_FILE)
                for severity in (Severity.ERROR, Severity.WARNING)
            )
            if errors or warnings:
                found.append(LeftOut(file, errors, warnings))
        return found

    def error(
        self,
        slug: str,
        headline: str,
        span: Span,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Help = None,
    ) -> None:
        """Report an error; the pass continues as well as it can."""
        self._add(Severity.ERROR, slug, headline, span, label, secondary, notes, help)

    def warning(
        self,
        slug: str,
        headline: str,
        span: Span,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Help = None,
    ) -> None:
        """Report legal text that is probably not what the author meant."""
        self._add(Severity.WARNING, slug, headline, span, label, secondary, notes, help)

    def declared_twice(self, slug: str, headline: str, span: Span, first: Span) -> None:
        """Report a name that is declared at ``span`` and was at ``first``."""
        secondary = [Label(first, "first declared here")]
        self.error(slug, headline, span, "declared again", secondary=secondary)

    def _add(
        self,
        severity: Severity,
        slug: str,
        headline: str,
        span: Span,
        label: str,
        secondary: Iterable[Label],
        notes: Iterable[str],
        help: Help,
    ) -> None:
        places = tuple(islice(secondary, PLACES_SHOWN))
        found = Diagnostic(slug, severity, headline, Label(span, label), places, tuple(notes))
        self.add(found, help)

    def add(self, found: Diagnostic, help: Help = None) -> None:
        """Report a finding unless it was reported before."""
        if found in self._reported:
            return
        self._reported.add(found)
        kind = _kind(found)
        self._counts[kind] += 1
        if not isinstance(help, str | None):
            help = help() if self._counts[kind] <= SHOWN_PER_FILE else None
        self.diagnostics.append(found if help is None else replace(found, help=help))

    def take_back(self, position: int) -> None:
        """Drop the findings since ``position``: the text is then compiled in another way."""
        del self.diagnostics[position:]
        self._reported = {replace(found, help=None) for found in self.diagnostics}
        self._counts = Counter(map(_kind, self.diagnostics))

    def add_place(self, position: int, span: Span) -> None:
        """Show with the finding at ``position`` that it holds for another place as well."""
        found = self.diagnostics[position]
        places = {found.primary.span, *(label.span for label in found.secondary)}
        if span not in places and len(places) < PLACES_SHOWN:
            also = Label(span, ALSO_HERE)
            self.diagnostics[position] = replace(found, secondary=(*found.secondary, also))

    @property
    def error_count(self) -> int:
        return sum(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def warning_count(self) -> int:
        return sum(d.severity is Severity.WARNING for d in self.diagnostics)


def _kind(found: Diagnostic) -> tuple[str, Severity]:
    return found.primary.span.file.name, found.severity
