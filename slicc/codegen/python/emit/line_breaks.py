"""Breaks statements that are too long at their commas, or at their loosest operators.

Invariant: only line ends, indentation, and commas or parentheses that do not change the meaning are
added; a line longer than the width has no place to break at.
"""

from __future__ import annotations

import re
from itertools import pairwise

from slicc.codegen.emitter import INDENT as INDENT
from slicc.codegen.python.emit.python_tree import STRENGTH
from slicc.text.python_source import WIDTH as WIDTH

_OPERATORS = sorted(STRENGTH, key=len, reverse=True)
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<open>[(\[])|(?P<close>[)\]])"""
    rf"|(?P<comma>,)|(?<=\ )(?P<sign>{'|'.join(map(re.escape, _OPERATORS))})(?=\ )"
)


def lines(indent: int, before: str, code: str, after: str) -> list[str]:
    """``before`` + expression + ``after`` as lines with their indentation."""
    flat = f"{' ' * indent}{before}{code}{after}"
    if len(flat) <= WIDTH:
        return [flat]
    if len(_pieces(code)) > 1:
        return _opened(indent, f"{before}(", code, f"){after}")
    pair = _brackets(code)
    if pair is None:
        return [flat]
    return _opened(indent, before + code[: pair[0]], code[slice(*pair)], code[pair[1] :] + after)


def _opened(indent: int, head: str, inside: str, tail: str) -> list[str]:
    pad = " " * indent
    return [pad + head, *_inside(indent + INDENT, inside), pad + tail]


def _inside(indent: int, code: str) -> list[str]:
    """A piece of an expression inside of brackets."""
    if indent + len(code) > WIDTH:
        pieces = _pieces(code)
        if len(pieces) > 1:
            return [line for piece in pieces for line in _inside(indent, piece)]
        pair = _brackets(code)
        if pair is not None:
            return _opened(indent, code[: pair[0]], code[slice(*pair)], code[pair[1] :])
    return [" " * indent + code]


def _outermost(code: str) -> list[re.Match[str]]:
    """Commas, operators and brackets outside of all brackets."""
    found = []
    depth = 0
    for token in _TOKEN.finditer(code):
        depth -= token.lastgroup == "close"
        assert depth >= 0, "our own expressions have their brackets in pairs"
        if depth == 0 and token.lastgroup != "string":
            found.append(token)
        depth += token.lastgroup == "open"
    return found


def _pieces(code: str) -> list[str]:
    """The items of a list, each with its comma, or the operands, each behind its operator."""
    tokens = _outermost(code.removesuffix(","))
    commas = [each.end() for each in tokens if each["comma"]]
    signs = [(STRENGTH[each["sign"]], each.start()) for each in tokens if each["sign"]]
    loosest = min(signs, default=(0, 0))[0]
    cuts = commas or [place for strength, place in signs if strength == loosest]
    edges = [0, *cuts, len(code)]
    made = [code[start:end].strip() for start, end in pairwise(edges)]
    assert all(made), "no operand is empty"
    return [*made[:-1], f"{made[-1]}," if commas else made[-1]]


def _brackets(code: str) -> tuple[int, int] | None:
    """What stands in the last brackets that hold anything: its start and its end."""
    ends = [each for each in _outermost(code) if each["open"] or each["close"]]
    pairs = [(a.end(), b.start()) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    return next((pair for pair in reversed(pairs) if pair[0] < pair[1]), None)
