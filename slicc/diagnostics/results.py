"""Diagnostics as results of a check, for the formats of continuous integration.

Invariant: a finding has the rule of its slug, with the page that ``slicc explain`` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from slicc.diagnostics.model import Diagnostic, Severity
from slicc.diagnostics.registry import CODES
from slicc.diagnostics.render_text import render_text
from slicc.source import BUILTIN, Span
from slicc.text.results.model import Case, Fault, Found, Level, Place, Rule, place_name

_LEVELS = {Severity.ERROR: Level.error, Severity.WARNING: Level.warning}


def as_found(diagnostics: Iterable[Diagnostic]) -> list[Found]:
    """The findings in their order."""
    return [
        Found(
            each.slug,
            _LEVELS[each.severity],
            _message(each),
            _place(each.primary.span),
            [(place, label.text) for label in each.secondary if (place := _place(label.span))],
        )
        for each in diagnostics
    ]


def rules() -> list[Rule]:
    """All kinds of findings that there are."""
    return [Rule(code.slug, code.title, code.page) for code in CODES.values()]


def as_cases(
    diagnostics: Iterable[Diagnostic], passed: Sequence[str], warnings_fail: bool
) -> list[Case]:
    """A case for each finding, and one for each of the protocols that ``passed``.

    A warning fails only where it fails the command.
    """
    return [
        *[Case("slicc check", name) for name in passed],
        *[_case(each, warnings_fail) for each in diagnostics],
    ]


def _case(found: Diagnostic, warnings_fail: bool) -> Case:
    span, text = found.primary.span, render_text([found], [], color=False)
    name = f"{found.slug} at {span.line}:{span.column}"
    if found.severity is Severity.ERROR or warnings_fail:
        return Case(span.file.name, name, Fault(found.slug, found.headline, text))
    return Case(span.file.name, name, output=text)


def _message(found: Diagnostic) -> str:
    """Headline, what the place is about, what to know and to do, in a few lines."""
    label = [found.primary.text] if found.primary.text else []
    help_ = [f"help: {found.help}"] if found.help else []
    notes = [f"note: {note}" for note in found.notes]
    return "\n".join([found.headline, *label, *notes, *help_])


def _place(span: Span) -> Place | None:
    if span.file == BUILTIN:
        return None
    end = span.file.position(max(span.start, span.end))
    return Place(place_name(Path(span.file.name)), span.line, span.column, *end)
