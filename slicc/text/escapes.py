"""Characters that are not simply shown, and what stands in their place.

Two questions are asked of a character. In generated sources: is it printable (``str.isprintable``:
no control, format or private character, no surrogate, no blank but the ASCII one)? On a page or
a screen: does it act on the reader's view (controls, bidirectional marks, line separators)
instead of being seen? Invariant: what replaces a character is printable ASCII or U+FFFD.
"""

from __future__ import annotations

import re
import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SUSPECT = re.compile(r"[^\x20-\x7e]")


def escape(character: str) -> str:
    """A character as Python and C++ would write it in a literal."""
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    """The text in printable characters on one line; backslashes stay single, for readers only."""
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() else escape(each) for each in text])


def escaped(text: str) -> str:
    """The text as `visible` gives it, without loss: backslashes are doubled, so that it can be
    restored."""
    return visible(text.replace("\\", "\\\\"))


def quoted(text: str) -> str:
    """The text without loss, in double quotes."""
    return '"' + escaped(text).replace('"', '\\"') + '"'


def one_line(text: str) -> str:
    """The text with every run of white space as one blank."""
    return " ".join(text.split())


def acts(character: str) -> bool:
    """Whether the character acts on a screen instead of being seen."""
    return unicodedata.category(character) in _ACTING


def inert(text: str, keep: str = "") -> str:
    """The text with one replacement character for each that acts, so that columns still count.

    ``keep``: characters that may act.
    """
    return _SUSPECT.sub(
        lambda found: "\ufffd" if acts(found[0]) and found[0] not in keep else found[0], text
    )
