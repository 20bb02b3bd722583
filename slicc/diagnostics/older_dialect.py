"""The one warning about a text of another version of the language."""

from __future__ import annotations

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import Span


def note_dialect(
    sink: DiagnosticSink, what: str, span: Span, now: str, *, newer: bool = False
) -> None:
    """Say once per compilation that something older, or newer, was read as ``now``."""
    headline = f"{'newer' if newer else 'older'} dialect: {what}"
    if all(found.headline != headline for found in sink.diagnostics):
        sink.warning("older-dialect", headline, span, f"read as {now}")
