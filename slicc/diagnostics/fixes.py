"""Changes of the text that correct a finding.

Invariant: a fix replaces one stretch of the file of the finding's own span.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slicc.diagnostics.model import Diagnostic, Severity
from slicc.source import Span

_MEANT = re.compile(r"did you mean `([^`\s]+)`\?")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Fix:
    """Replace ``span`` by ``text``. ``certain``: there is one candidate, and the text is wrong."""

    title: str
    span: Span
    text: str
    certain: bool


def fixes(found: Diagnostic) -> Iterator[Fix]:
    """What can be done about a finding, the best first."""
    span = found.primary.span
    if found.slug == "missing-semicolon":
        end = Span(span.file, span.start, span.start)
        yield Fix("insert the missing `;`", end, ";", True)
    meant = _MEANT.fullmatch(found.help or "")
    if meant is not None and _NAME.match(span.text):
        certain = found.severity is Severity.ERROR
        yield Fix(f"replace it by `{meant[1]}`", span, meant[1], certain)


def allowance(found: Diagnostic) -> Fix | None:
    """A comment above the line that allows a warning; its author has to add the reason."""
    if found.severity is not Severity.WARNING or found.slug == "invalid-allowance":
        return None
    source, line = found.primary.span.file, found.primary.span.line
    start, _ = source.line_bounds(line)
    text = source.line_text(line)
    indent = text[: len(text) - len(text.lstrip())]
    comment = f"{indent}// slicc: allow({found.slug}) \n"
    return Fix(f"allow `{found.slug}` here", Span(source, start, start), comment, False)
