"""Diagnostics for programs: one JSON document.

    {"version": 1, "errors": 1, "warnings": 0, "diagnostics": [{
        "severity": "error", "slug": "unknown-action", "headline": "…",
        "file": "MI-cache.sm", "line": 459, "column": 5, "end": {"line": 459, "column": 18},
        "label": "…", "labels": [{"text": "…", "file": …, "line": …, "column": …, "end": …}],
        "notes": ["…"], "help": null}],
     "left_out": [{"file": "MI-dir.sm", "errors": 20, "warnings": 0}], "error": null}

Of a file with very many findings only the first are diagnostics here; ``left_out`` counts the
others, and ``errors`` and ``warnings`` count all. ``error``: why the command could not look.

Lines and columns count from 1, columns in characters; ``end`` is the first place after the span.
Invariant: keys are only ever added; ``version`` changes if one changes its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from slicc.diagnostics.model import Diagnostic, LeftOut, Severity
from slicc.source import Span
from slicc.text.data import json_text

VERSION = 1


def render_json(
    diagnostics: Sequence[Diagnostic], left_out: Sequence[LeftOut] = (), error: str | None = None
) -> str:
    """The document, ending in a newline. The order of diagnostics is kept."""
    errors = sum(found.severity is Severity.ERROR for found in diagnostics)
    document = {
        "version": VERSION,
        "errors": errors + sum(one.errors for one in left_out),
        "warnings": len(diagnostics) - errors + sum(one.warnings for one in left_out),
        "diagnostics": [_diagnostic(found) for found in diagnostics],
        "left_out": [asdict(one) for one in left_out],
        "error": error,
    }
    return json_text(document, indent=2) + "\n"


def _diagnostic(found: Diagnostic) -> dict[str, object]:
    return {
        "severity": found.severity.value,
        "slug": found.slug,
        "headline": found.headline,
        **_place(found.primary.span),
        "label": found.primary.text,
        "labels": [{"text": label.text, **_place(label.span)} for label in found.secondary],
        "notes": list(found.notes),
        "help": found.help,
    }


def _place(span: Span) -> dict[str, object]:
    line, column = span.file.position(span.start)
    end_line, end_column = span.file.position(span.end)
    return {
        "file": span.file.name,
        "line": line,
        "column": column,
        "end": {"line": end_line, "column": end_column},
    }
