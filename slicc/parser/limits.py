"""Bounds on what one file may contain, checked before it is parsed.

Protocols may come from untrusted sources. All later stages walk the tree by recursion, and
generated Python must stay within Python's own limits; so depth is bounded here, once. Invariant:
a file that passes gives a tree whose depth is a small multiple of these numbers.
"""

from __future__ import annotations

import re

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import SourceFile, Span

BRACKETS = 60
"""Brackets of any kind inside each other."""
BLOCKS = 40
"""Braces inside each other."""
OPERATORS = 400
"""Operators, dots and the like between two ``;`` or braces."""
ALTERNATIVES = 200
"""``else`` branches of one chain."""
NAME = 200
"""Characters of one name: messages and generated code repeat it."""
OVERLOADS = 50
"""Functions of one name in one place: a call is compared with all of them."""
DIGITS = 24
"""Digits of one number: 64 bits need 20."""

_INTERESTING = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "[^"\n]*" | '[^'\n]*'
      | [A-Za-z_]\w* | [0-9]+ | [;(){}\[\]] | [-+*/%<>=!&|.]+""",
    re.VERBOSE | re.DOTALL,
)


def within_limits(source: SourceFile, sink: DiagnosticSink) -> bool:
    """Report the first excess of each kind; False if there is any."""
    reported: set[str] = set()

    def report(slug: str, what: str, start: int, end: int) -> None:
        if what not in reported:
            reported.add(what)
            sink.error(slug, what, Span(source, start, end))

    brackets = blocks = operators = 0
    chains = [0]  # else branches so far, per open block
    closed = False  # the token before was a `}`
    for match in _INTERESTING.finditer(source.text):
        token = match[0]
        first = token[0]
        if token[:2] in ("//", "/*") or first in "\"'":
            continue
        if first in "({[":
            brackets += 1
            blocks += first == "{"
            if brackets > BRACKETS or blocks > BLOCKS:
                what = f"more than {BLOCKS} blocks or {BRACKETS} brackets inside each other"
                report("nesting-too-deep", what, *match.span())
                return False
        elif first in ")}]":
            brackets = max(0, brackets - 1)
        elif first.isdigit() and len(token) > DIGITS:
            report("number-out-of-range", f"a number of more than {DIGITS} digits", *match.span())
        elif len(token) > NAME and (first.isalpha() or first == "_"):
            report("name-too-long", f"a name of more than {NAME} characters", *match.span())
        elif first in "-+*/%<>=!&|.":
            operators += len(token)
            if operators > OPERATORS:
                what = f"more than {OPERATORS} operators in one statement"
                report("nesting-too-deep", what, *match.span())
        if closed and token != "else":
            chains[-1] = 0
        if token == "else":
            chains[-1] += 1
            if chains[-1] > ALTERNATIVES:
                what = f"more than {ALTERNATIVES} `else` branches in one chain"
                report("nesting-too-deep", what, *match.span())
        elif first == "{":
            chains.append(0)
        elif first == "}":
            blocks = max(0, blocks - 1)
            if len(chains) > 1:
                chains.pop()
        if first in ";{}":
            operators = 0
        closed = first == "}"
    return not reported
