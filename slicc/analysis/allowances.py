"""``// slicc: allow(SLUG) reason``: findings that the author has looked at.

Behind code the comment allows findings on its line, alone on a line those on the next line with
code, and above a machine (or on its first line) those in the rest of the machine. Invariant: only
warnings are allowed, each by its slug and with a reason; what allows nothing is itself reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from slicc.analysis.rule import finding
from slicc.diagnostics.model import Diagnostic, Severity
from slicc.source import SourceFile, Span
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest

_COMMENT = re.compile(r"//[ \t]*slicc:[ \t]*allow\(([^)\n]*)\)[ \t]*([^\n]*)")
_MACHINE = re.compile(r"\s*machine\s*\(")


@dataclass(frozen=True, slots=True)
class Allowance:
    """Lines of a file on which a slug is allowed."""

    file: str
    slug: str
    first: int
    last: int

    def covers(self, found: Diagnostic) -> bool:
        """Whether a finding is allowed."""
        span = found.primary.span
        return (
            found.severity is Severity.WARNING
            and found.slug == self.slug
            and span.file.name == self.file
            and self.first <= span.line <= self.last
        )


def allowances(source: SourceFile) -> Iterator[Allowance | Diagnostic]:
    """The allowances of a text, and what is wrong with those that are none."""
    if _COMMENT.search(source.text) is None:
        return  # the register has a page for each finding
    from slicc.diagnostics.registry import CODES

    for match in _COMMENT.finditer(source.text):
        span = Span(source, match.start(), match.end())
        slug, reason = match[1].strip(), match[2].strip()
        if slug not in CODES:
            close = suggest(slug, CODES)
            yield finding(
                "invalid-allowance",
                f"there is no finding `{slug}` to allow",
                span,
                "allows nothing",
                help=f"did you mean {close}?" if close else "`slicc explain` lists the findings",
            )
        elif not reason:
            yield finding(
                "invalid-allowance",
                f"the allowance of `{slug}` has no reason",
                span,
                "say behind it why the finding is none",
            )
        else:
            yield Allowance(source.name, slug, *_lines(source, span.line))


def _lines(source: SourceFile, line: int) -> tuple[int, int]:
    first = line
    if source.line_text(line).lstrip().startswith("//"):
        first = _next_code(source, line)
    if not _MACHINE.match(source.line_text(first)):
        return first, first
    last = first
    while last < source.line_count and not _MACHINE.match(source.line_text(last + 1)):
        last += 1
    return first, last


def _next_code(source: SourceFile, line: int) -> int:
    for number in range(line + 1, source.line_count + 1):
        text = source.line_text(number).strip()
        if text and not text.startswith("//"):
            return number
    return line


def without_allowed(
    found: Iterable[Diagnostic], sources: Iterable[SourceFile]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """The findings that are not allowed, and those about the allowances."""
    allowed: list[Allowance] = []
    invalid: list[Diagnostic] = []
    for source in {each.name: each for each in sources}.values():
        for each in allowances(source):
            if isinstance(each, Allowance):
                allowed.append(each)
            else:
                invalid.append(each)
    left = [one for one in found if not any(each.covers(one) for each in allowed)]
    return left, invalid
