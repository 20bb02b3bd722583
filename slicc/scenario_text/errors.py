"""What is wrong with a text, shown at its place.

Slugs of scenarios begin with ``scenario-``; docs/scenarios.md lists them. Invariant: an error names
file, line and the text at fault, and shows the line with a caret below.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc.diagnostics.model import Diagnostic, Label, Severity
from slicc.diagnostics.render_text import render_one
from slicc.source import Span


class ScenarioError(ValueError):
    """A scenario that cannot be used. The message is a rendered diagnostic."""

    def __init__(
        self,
        slug: str,
        headline: str,
        span: Span,
        label: str = "",
        *,
        secondary: Iterable[tuple[Span, str]] = (),
        help: str | None = None,
    ) -> None:
        others = tuple(Label(*each) for each in secondary)
        self.diagnostic = Diagnostic(
            f"scenario-{slug}", Severity.ERROR, headline, Label(span, label), others, help=help
        )
        super().__init__(render_one(self.diagnostic).rstrip("\n"))
