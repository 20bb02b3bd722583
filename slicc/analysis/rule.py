"""A rule of the analysis as a value, and the findings that it makes.

Invariant: a rule only reads; what it finds are diagnostics whose slugs have a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from slicc.analysis.facts import MachineFacts
from slicc.diagnostics.model import Diagnostic, Label, Severity
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

Findings = Iterator[Diagnostic]


@dataclass(frozen=True, slots=True)
class Rule:
    """Looks at one machine. ``slugs``: all that it may report."""

    slugs: tuple[str, ...]
    find: Callable[[MachineFacts], Findings]


def finding(
    slug: str,
    headline: str,
    span: Span,
    label: str,
    *,
    secondary: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: str | None = None,
) -> Diagnostic:
    """A warning."""
    return Diagnostic(
        *(slug, Severity.WARNING, headline, Label(span, label)),
        *(tuple(secondary), tuple(notes), help),
    )


def cells(states: Iterable[str], events: Iterable[str]) -> str:
    """``I on Load``, or several of them shortened."""
    left, right = list(states), list(events)
    shown = ", ".join(left[:3]) + (", …" if len(left) > 3 else "")
    return f"{shown} on {', '.join(right[:3])}{', …' if len(right) > 3 else ''}"
