"""A diagnostic is a value; rendering it is someone else's job.

The shape follows the needs of a reader: what is wrong (headline), where (primary label), what
else belongs to it (secondary labels), what to know (notes) and what to do (help).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from slicc.source import Span

PLACES_SHOWN = 12
"""Places of one finding; whoever puts these right will look for more."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A span and what we saw there."""

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


class DiagnosticSink:
    """Collects what passes find. Passes report here and go on."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        """In the order in which they were found."""
        self._reported: set[Diagnostic] = set()
        self._files: dict[str, int] = {}

    def reading(self, file: str) -> None:
        """A file is read now: findings are shown in the order in which their files were."""
        self._files.setdefault(file, len(self._files))

    def in_source_order(self) -> list[Diagnostic]:
        """What readers want: by file as they were read, from top to bottom."""
        last = len(self._files)  # what no file contains

        def place(found: Diagnostic) -> tuple[int, int]:
            span = found.primary.span
            return self._files.get(span.file.name, last), span.start

        return sorted(self.diagnostics, key=place)

    def error(
        self,
        slug: str,
        headline: str,
        span: Span,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        """Report an error; the pass goes on as well as it can."""
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
        help: str | None = None,
    ) -> None:
        """Report something legal that the author would want to know."""
        self._add(Severity.WARNING, slug, headline, span, label, secondary, notes, help)

    def _add(
        self,
        severity: Severity,
        slug: str,
        headline: str,
        span: Span,
        label: str,
        secondary: Iterable[Label],
        notes: Iterable[str],
        help: str | None,
    ) -> None:
        found = Diagnostic(
            slug, severity, headline, Label(span, label), tuple(secondary), tuple(notes), help
        )
        if found not in self._reported:
            self._reported.add(found)
            self.diagnostics.append(found)

    def take_back(self, position: int) -> None:
        """Forget what was reported since then: it is looked at again in another way."""
        del self.diagnostics[position:]
        self._reported = set(self.diagnostics)

    def add_place(self, position: int, span: Span) -> None:
        """Show with the finding at ``position`` that it holds for another place as well."""
        found = self.diagnostics[position]
        places = {found.primary.span, *(label.span for label in found.secondary)}
        if span not in places and len(places) < PLACES_SHOWN:
            also = Label(span, "also here")
            self.diagnostics[position] = replace(found, secondary=(*found.secondary, also))

    @property
    def error_count(self) -> int:
        return sum(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def warning_count(self) -> int:
        return sum(d.severity is Severity.WARNING for d in self.diagnostics)
