"""Changes of texts that correct a finding.

Invariant: what a fix replaces is the place of the finding, or places that the finding shows, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slicc.diagnostics.model import ALSO_HERE, Diagnostic, Severity
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_MEANT = re.compile(r"did you mean `([^`\s]+)`\?")
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, slots=True)
class Fix:
    """Replace each of ``spans`` by ``text``.

    ``certain``: the text is wrong, and there is one candidate for what is meant.
    """

    title: str
    spans: tuple[Span, ...]
    text: str
    certain: bool


def fixes(found: Diagnostic) -> Iterator[Fix]:
    """What can be done about a finding, the best first."""
    span = found.primary.span
    if found.slug == "missing-semicolon":
        yield Fix("insert the missing `;`", (Span(span.file, span.start, span.start),), ";", True)
    meant = _MEANT.fullmatch(found.help or "")
    if meant is not None and _NAME.match(span.text):
        places = (each.span for each in found.secondary if each.text == ALSO_HERE)
        certain = found.severity is Severity.ERROR
        yield Fix(f"replace it by `{meant[1]}`", (span, *places), meant[1], certain)


def allowance(found: Diagnostic) -> Fix | None:
    """A comment above the line that allows a warning; its author has to add the reason."""
    if found.severity is not Severity.WARNING or found.slug == "invalid-allowance":
        return None
    source, line = found.primary.span.file, found.primary.span.line
    start, _ = source.line_bounds(line)
    text = source.line_text(line)
    indent = text[: len(text) - len(text.lstrip())]
    comment = f"{indent}// slicc: allow({found.slug}) \n"
    return Fix(f"allow `{found.slug}` here", (Span(source, start, start),), comment, False)


def certain_fixes(found: Iterable[Diagnostic]) -> list[Fix]:
    """The best fix of each finding that has one which is certain."""
    best = (next(fixes(each), None) for each in found)
    return [fix for fix in best if fix is not None and fix.certain]


def fixed_text(text: str, file: str, chosen: Iterable[Fix]) -> str:
    """The text of a file with fixes applied; of two that touch one place the first one counts."""
    edits = {
        (span.start, span.end): fix.text
        for fix in chosen
        for span in fix.spans
        if span.file.name == file
    }
    parts: list[str] = []
    at = 0
    for (start, end), new in sorted(edits.items()):
        if start >= at:
            parts += (text[at:start], new)
            at = end
    return "".join((*parts, text[at:]))
