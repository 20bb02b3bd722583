"""Protocols written for other versions of the language, read as what they mean today.

``tokens`` puts older spellings into today's before the parser sees them; ``declarations`` does
the same with declarations that have moved or were replaced; ``names`` lists what has been
renamed. Everything behind this package knows today's language only. Invariant: a text of today
passes through unchanged, and everything that was changed is reported once per kind.
"""

from __future__ import annotations

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import Span

__all__ = ["note_dialect"]


def note_dialect(sink: DiagnosticSink, what: str, span: Span, now: str) -> None:
    """Say once per compilation that something older was read as ``now``."""
    headline = f"older dialect: {what}"
    if all(found.headline != headline for found in sink.diagnostics):
        sink.warning("older-dialect", headline, span, f"read as {now}")
