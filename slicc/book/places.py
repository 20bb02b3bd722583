"""Where things stand in a book: its chapters are pages, or parts of one page.

Chapters are machines (``m-NAME``) and source files (``f0``). Invariant: an anchor is in one
chapter only, so that links work in both forms.
"""

from __future__ import annotations

from collections.abc import Callable

Place = Callable[[str, str], str]
"""The address of an anchor in a chapter."""


def in_one_page(chapter: str, anchor: str) -> str:
    """Where all chapters are one page."""
    return f"#{anchor}"


def in_pages(chapter: str, anchor: str) -> str:
    """Where every chapter is a page of its own."""
    return f"{chapter}.html#{anchor}"
