"""Author's text in JSON and TOML.

Invariant: JSON of ours is ASCII, so that lone surrogates survive; nothing in JSON or TOML of ours
acts on a screen.
"""

from __future__ import annotations

import json
import re

from slicc.text.escapes import acts, visible


def json_text(
    value: object, *, indent: int | None = None, compact: bool = False, sort_keys: bool = False
) -> str:
    """A document, without a line end. ``compact``: no blanks between items."""
    separators = (",", ":") if compact else None
    return json.dumps(
        value, indent=indent, ensure_ascii=True, separators=separators, sort_keys=sort_keys
    )


def script_json(value: object) -> str:
    """JSON for a ``<script>`` element: whatever texts it holds, none ends the element, opens a
    comment in it, or is an entity in XHTML."""
    text = json_text(value, compact=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_BEYOND_ASCII = re.compile(r"[^\x20-\x7e\n\t]")


def toml_document(text: str) -> str:
    """A document as it may be printed: what acts is escaped as basic strings allow it.

    TOML lets such characters stand in strings and comments only, and no literal string of ours
    holds one.
    """
    return _BEYOND_ASCII.sub(
        lambda found: _toml_escape(found[0]) if acts(found[0]) else found[0], text
    )


def _toml_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def toml_comment(text: str) -> str:
    """A comment on a line of its own."""
    return f"# {visible(text)}"
