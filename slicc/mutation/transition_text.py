"""Where the parts of a transition stand in the text.

The IR keeps the states and events of a transition as one span; its next state and its actions are
found from there. Invariant: spans are those of whole names; a text that reads differently (an
older dialect, a prelude) gives none, and no mutant is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\s+|(?P<token>\w+|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TransitionText:
    """``next_state`` None: it stays; ``actions``: in order, separators not included.

    ``head``: behind the events, where a next state would be named.
    """

    whole: Span
    head: int
    next_state: Span | None
    actions: tuple[Span, ...]


def _tokens(span: Span, start: int) -> Iterator[Span]:
    for match in _TOKEN.finditer(span.file.text, start):
        if match["token"] is not None:
            yield Span(span.file, match.start("token"), match.end("token"))


def _names_until_brace(tokens: Iterator[Span]) -> tuple[list[Span], Span] | None:
    names: list[Span] = []
    for token in tokens:
        if token.text == "}":
            return names, token
        if token.text not in (",", ";"):
            names.append(token)
    return None


def transition_text(span: Span) -> TransitionText | None:
    """The parts of the transition whose states and events stand at ``span``."""
    begin = span.file.text.rfind("transition", 0, span.start)
    tokens = _tokens(span, span.end)
    token = next(tokens, None)
    following = None
    if token is not None and token.text == ",":
        following = next(tokens, None)
        token = next(tokens, None)
    if begin < 0 or token is None or token.text != ")":
        return None
    token = next(tokens, None)
    if token is None or token.text != "{":
        return None
    block = _names_until_brace(tokens)
    if block is None:
        return None
    token = next(tokens, None)
    if token is not None and token.text == "{":  # the first one had request types
        block = _names_until_brace(tokens)
        if block is None:
            return None
    names, end = block
    whole = Span(span.file, begin, end.end)
    return TransitionText(whole, span.end, following, tuple(names))


def behind_separator(name: Span) -> int:
    """Where the text continues behind a name of a list and its separator."""
    token = next(_tokens(name, name.end), None)
    return token.end if token is not None and token.text in (";", ",") else name.end
