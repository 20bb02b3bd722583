"""Author's text in HTML, in XML, in DOT and in Markdown.

Invariant: the text is neither a tag nor the end of its quotes, and nothing in it acts on the
reader's view.
"""

from __future__ import annotations

import html
import re
from typing import Final

from slicc.text.escapes import inert

_JOINERS: Final = "\u200c\u200d"
"""They join and part letters of a word, as some scripts need it, and move nothing else."""
_MARKDOWN: Final = re.compile(r"[\\`*_\[\]<>|~&#]")
_LIST: Final = re.compile(r"\A(\d*)([-+=.)])")
_NOT_IN_XML = re.compile("[\ufffe\uffff]")  # what remains of them once nothing acts


def page_text(text: str) -> str:
    """For a template that escapes mark-up itself: lines and tabs stay, nothing else acts."""
    return inert(text, keep="\n\t" + _JOINERS)


def html_text(text: str) -> str:
    """Between tags or in the quotes of an attribute."""
    return html.escape(inert(text, keep="\n" + _JOINERS))


def xml_text(text: str) -> str:
    """For a library that escapes mark-up itself: the characters that XML 1.0 can hold."""
    return _NOT_IN_XML.sub("\ufffd", page_text(text))


def dot_text(text: str, backslash: str = "\\") -> str:
    """A text that is neither an entity nor HTML to Graphviz, and in which ``\\N`` names no node."""
    import graphviz

    literal = inert(text, keep="\n" + _JOINERS).replace("&", "&amp;").replace("\\", backslash)
    escaped: str = graphviz.escape(literal)
    return escaped


def dot_tooltip(text: str) -> str:
    """A text in a tooltip: some versions replace ``\\N`` twice, an invisible blank parts it."""
    return dot_text(text, "\\\u200b")


def dot_html(text: str) -> str:
    """In an HTML-like label, where Graphviz replaces ``\\N`` after the entities."""
    return html_text(text).replace("\\", "\\\\")


def markdown_text(text: str) -> str:
    """In a line or a cell of Markdown: neither mark-up nor HTML, and no end of the line."""
    line = " ".join(inert(text, keep="\n\t" + _JOINERS).split())
    return (
        _LIST.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\g<0>", line))
        .replace("\\<", "&lt;")
        .replace("\\&", "&amp;")
    )


def markdown_block(text: str, language: str = "") -> str:
    """A fenced block that the text cannot end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{inert(text, keep=chr(10) + chr(9))}\n{fence}"
