"""One kind of finding: its slug, its title and its page.

Invariant: a slug, once released, keeps its meaning; it is never reused for another finding.
"""

from __future__ import annotations

from textwrap import dedent, indent

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding and its page.

    ``what`` says what the finding means, ``why`` why it matters; ``example`` shows SLICC text
    that has it and ``instead`` the same text corrected. All four may be indented freely.
    """

    slug: str
    title: str
    what: str
    why: str
    example: str
    instead: str

    @property
    def page(self) -> str:
        """The page that ``slicc explain`` prints, ending in a newline."""
        headline = f"{self.slug}: {self.title}"
        return "\n\n".join(
            [
                f"{headline}\n{'=' * len(headline)}",
                _prose(self.what),
                f"Why it is bad\n{'-' * 13}\n\n{_prose(self.why)}",
                f"Example\n{'-' * 7}\n\n{_listing(self.example)}",
                f"Use instead\n{'-' * 11}\n\n{_listing(self.instead)}\n",
            ]
        )


def _prose(text: str) -> str:
    return dedent(text).strip()


def _listing(text: str) -> str:
    return indent(dedent(text).strip("\n").rstrip(), "    ")
