"""Author's text in HTML, in XML and in DOT.

Invariant: the text is neither a tag nor the end of its quotes, and nothing in it acts on the
reader's view.
"""

from __future__ import annotations

import html
import re

from slicc.text.escapes import inert

_NOT_IN_XML = re.compile("[\ufffe\uffff]")  # what remains of them once nothing acts


def page_text(text: str) -> str:
    """For a template that escapes mark-up itself: lines and tabs stay, nothing else acts."""
    return inert(text, keep="\n\t")


def html_text(text: str) -> str:
    """Between tags or in the quotes of an attribute."""
    return html.escape(inert(text, keep="\n"))


def xml_text(text: str) -> str:
    """For a library that escapes mark-up itself: the characters that XML 1.0 can hold."""
    return _NOT_IN_XML.sub("\ufffd", page_text(text))


def dot_text(text: str, backslash: str = "\\") -> str:
    """A text that is neither an entity nor HTML to Graphviz, and in which ``\\N`` names no node."""
    import graphviz

    literal = inert(text, keep="\n").replace("&", "&amp;").replace("\\", backslash)
    escaped: str = graphviz.escape(literal)
    return escaped


def dot_tooltip(text: str) -> str:
    """Likewise: some versions replace ``\\N`` twice in tooltips, an invisible blank parts it."""
    return dot_text(text, "\\\u200b")


def dot_html(text: str) -> str:
    """In an HTML-like label, where Graphviz replaces ``\\N`` after the entities."""
    return html_text(text).replace("\\", "\\\\")
