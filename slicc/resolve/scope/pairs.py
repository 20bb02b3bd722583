"""Pair lists (``key=value`` attributes): misspelt keys, numbers, descriptions.

Invariant: an unknown key has no effect; it is reported only when it looks misspelt.
"""

from __future__ import annotations

from slicc.diagnostics.model import DiagnosticSink
from slicc.prelude import KNOWN_PAIR_KEYS
from slicc.syntax import nodes as syntax
from slicc.text.suggest import suggest

_KEYS = sorted(KNOWN_PAIR_KEYS)
_innocent: set[str] = set()
"""Keys known to resemble no other key (a cache of a pure function)."""


def check_keys(pairs: syntax.Pairs, sink: DiagnosticSink) -> None:
    """Warn about keys that resemble a known one, and about repeated keys."""
    items = pairs.items
    if not items:
        return
    for pair in items:
        key = pair.key
        if key is None or key.text in KNOWN_PAIR_KEYS or key.text in _innocent:
            continue
        match = suggest(key.text, _KEYS)
        if match is None:
            _innocent.add(key.text)
            continue
        sink.warning(
            "unknown-pair-key",
            f"the pair key `{key.text}` means nothing and is ignored",
            key.span,
            "unknown key",
            help=f"did you mean `{match}`?",
        )
    if len(items) > 1:
        _check_repeats(pairs, sink)


def _check_repeats(pairs: syntax.Pairs, sink: DiagnosticSink) -> None:
    seen: set[str] = set()
    for pair in pairs.items:
        key = pair.key.text if pair.key is not None else "short"
        if key in seen and key != "short":
            assert pair.key is not None
            sink.warning(
                "duplicate-pair-key",
                f"`{key}` is given twice; the first one counts",
                pair.key.span,
                "ignored",
            )
        seen.add(key)


def description(pairs: syntax.Pairs) -> str:
    """The ``desc`` text, or nothing."""
    return pairs.get("desc") or ""


def integer(pair: syntax.Pair) -> int | None:
    """The value as a whole number, quoted or not; None if it is none."""
    text = pair.value.strip()
    return int(text) if text.isdecimal() and len(text) <= 9 else None
