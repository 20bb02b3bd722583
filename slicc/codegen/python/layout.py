"""Where an over-long statement breaks: the choices of ``ruff format``, for the Python we write.

A statement that fits stays on its line. Otherwise the tree becomes a document of groups and
possible breaks (the pretty-printing of Wadler, as ruff does it): an outermost group that does not
fit breaks first, the groups inside decide for themselves afterwards.

Invariant: formatting the result again changes nothing. Tests hold this against ruff itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from slicc.codegen.python import pycode
from slicc.codegen.python.pycode import Code
from slicc.text.python_source import WIDTH as WIDTH
from slicc.text.python_source import columns as columns

INDENT = 4


# ------------------------------------------------------------------ documents


@dataclass(slots=True)
class _Break:
    """A place where a line may end; ``flat`` is what stands there otherwise."""

    flat: str


@dataclass(slots=True)
class _Indent:
    parts: list[_Doc]


@dataclass(slots=True)
class _Group:
    """Breaks all of its own breaks or none."""

    parts: list[_Doc]


@dataclass(slots=True)
class _IfBroken:
    """Text that only stands there when the group around it breaks."""

    text: str


_Doc = str | _Break | _Indent | _Group | _IfBroken
_SPACE = _Break(" ")
_SOFT = _Break("")


class _Need(Enum):
    """Whether an expression that starts a statement wants parentheses to be broken."""

    NEVER = auto()
    IF_IT_HELPS = auto()
    WHEN_BROKEN = auto()


# ------------------------------------------------------------------ statements


def lines(indent: int, before: str, code: Code, after: str) -> list[str]:
    """``before`` + expression + ``after`` as lines without their first indentation.

    ``indent`` counts columns; continuation lines carry their full indentation.
    """
    flat = f"{before}{code.text}{after}"
    if indent + columns(flat) <= WIDTH:
        return [flat]
    need = _need(code)
    if need is _Need.NEVER:
        return _print(indent, [before, *_bare(code), after])
    wrapped: list[_Doc] = [before, _brackets("(", [_inside(code)], ")"), after]
    if need is _Need.IF_IT_HELPS:
        broken = _print(indent, wrapped)
        return broken if _widest(indent, broken) <= WIDTH else [flat]
    if _may_stay_bare(code):
        bare: list[_Doc] = [before, *_bare(code), after]
        if _widest(indent, _print(indent, bare, everything=True)) <= WIDTH:
            return _print(indent, bare)
    return _print(indent, wrapped)


def _widest(indent: int, printed: list[str]) -> int:
    first, *rest = printed
    return max([indent + columns(first), *[columns(line) for line in rest]])


def _need(code: Code) -> _Need:
    match code:
        case pycode.Atom():
            return _Need.IF_IT_HELPS
        case pycode.Chain() | pycode.Choice():
            return _Need.WHEN_BROKEN
        case pycode.Prefix(operand=pycode.Parenthesized()) | pycode.Parenthesized():
            return _Need.NEVER
        case pycode.Tuple() | pycode.Keyword():
            return _Need.NEVER
        case pycode.Prefix():
            return _need(code.operand)
        case pycode.Attribute():
            return _need(code.value)
        case pycode.Call() | pycode.Subscript():
            inner = _need(code.function if isinstance(code, pycode.Call) else code.value)
            return _Need.NEVER if inner is _Need.IF_IT_HELPS else inner
        case _:
            assert_never(code)


def _may_stay_bare(code: Code) -> bool:
    """Whether brackets that are there anyway are a good enough place to break."""
    if isinstance(code, pycode.Choice):
        return False
    operators = len(code.operators) if isinstance(code, pycode.Chain) else 0
    if isinstance(code, pycode.Chain):
        # Only the loosest operators count; a looser choice inside has its own parentheses.
        return operators <= 1 and (
            _ends_in_brackets(code.operands[-1]) or _starts_with_brackets(code.operands[0])
        )
    return _ends_in_brackets(code) or _starts_with_brackets(code)


def _ends_in_brackets(code: Code) -> bool:
    match code:
        case pycode.Call():
            return bool(code.arguments)
        case pycode.Parenthesized():
            return True
        case pycode.Tuple():
            return bool(code.items)
        case pycode.Prefix():
            return _ends_in_brackets(code.operand)
        case pycode.Chain():
            return _ends_in_brackets(code.operands[-1])
        case pycode.Keyword():
            return _ends_in_brackets(code.value)
        case pycode.Atom() | pycode.Attribute() | pycode.Subscript() | pycode.Choice():
            return False
        case _:
            assert_never(code)


def _starts_with_brackets(code: Code) -> bool:
    match code:
        case pycode.Parenthesized():
            return True
        case pycode.Tuple():
            return bool(code.items)
        case pycode.Call():
            return _starts_with_brackets(code.function)
        case pycode.Attribute() | pycode.Subscript():
            return _starts_with_brackets(code.value)
        case pycode.Chain():
            return _starts_with_brackets(code.operands[0])
        case pycode.Atom() | pycode.Prefix() | pycode.Choice() | pycode.Keyword():
            return False
        case _:
            assert_never(code)


# ------------------------------------------------------------------ trees to documents


def _bare(code: Code) -> list[_Doc]:
    """Outside of brackets, where a line can end only inside the brackets of the expression."""
    match code:
        case pycode.Chain():
            parts = _bare(code.operands[0])
            for sign, operand in zip(code.operators, code.operands[1:], strict=True):
                parts = [*parts, f" {sign} ", *_bare(operand)]
            return parts
        case pycode.Prefix():
            return [code.operator, *_bare(code.operand)]
        case pycode.Choice():
            parts = [*_bare(code.then), " if ", *_bare(code.condition)]
            return [*parts, " else ", *_bare(code.orelse)]
        case pycode.Attribute():
            return [*_bare(code.value), f".{code.name}"]
        case pycode.Call():
            return [*_bare(code.function), *_arguments(code.arguments)]
        case pycode.Subscript():
            return [*_bare(code.value), _brackets("[", [_inside(code.index)], "]")]
        case pycode.Atom() | pycode.Parenthesized() | pycode.Keyword() | pycode.Tuple():
            return [_inside(code)]
        case _:
            assert_never(code)


def _inside(code: Code) -> _Doc:
    """Inside of brackets, where operators may start a line."""
    match code:
        case pycode.Atom():
            return code.text
        case pycode.Chain():
            parts: list[_Doc] = [_inside(code.operands[0])]
            for sign, operand in zip(code.operators, code.operands[1:], strict=True):
                parts += [_SPACE, f"{sign} ", _inside(operand)]
            return _Group(parts)
        case pycode.Prefix():
            return _Group([code.operator, _inside(code.operand)])
        case pycode.Choice():
            parts = []
            while isinstance(code, pycode.Choice):
                parts += [_inside(code.then), _SPACE, "if ", _inside(code.condition)]
                parts += [_SPACE, "else "]
                code = code.orelse
            return _Group([*parts, _inside(code)])
        case pycode.Parenthesized():
            return _brackets("(", [_inside(code.inner)], ")")
        case pycode.Keyword():
            return _Group([f"{code.name}=", _inside(code.value)])
        case pycode.Tuple():
            if not code.items:
                return "()"
            last: _Doc = "," if len(code.items) == 1 else _IfBroken(",")
            return _brackets("(", [*_listed(code.items), last], ")")
        case pycode.Attribute() | pycode.Call() | pycode.Subscript():
            parts = _bare(code)
            return parts[0] if len(parts) == 1 else _Group(parts)
        case _:
            assert_never(code)


def _arguments(arguments: tuple[Code, ...]) -> list[_Doc]:
    if not arguments:
        return ["()"]
    # The arguments are a group of their own: first they move to a line together.
    return [_brackets("(", [_Group([*_listed(arguments), _IfBroken(",")])], ")")]


def _listed(items: tuple[Code, ...]) -> list[_Doc]:
    parts: list[_Doc] = []
    for index, item in enumerate(items):
        if index:
            parts += [",", _SPACE]
        parts.append(_inside(item))
    return parts


def _brackets(opening: str, content: list[_Doc], closing: str) -> _Group:
    return _Group([opening, _Indent([_SOFT, *content]), _SOFT, closing])


# ------------------------------------------------------------------ printing


def _print(indent: int, parts: list[_Doc], *, everything: bool = False) -> list[str]:
    """The document as lines; ``everything`` breaks every group, to see whether that would fit."""
    done: list[str] = []
    line = ""
    column = indent
    stack: list[tuple[int, bool, _Doc]] = [(indent, True, part) for part in reversed(parts)]
    while stack:
        level, broken, doc = stack.pop()
        match doc:
            case str():
                line += doc
                column += columns(doc)
            case _Break():
                if broken:
                    done.append(line)
                    line = " " * level
                    column = level
                else:
                    line += doc.flat
                    column += len(doc.flat)
            case _Indent():
                stack += [(level + INDENT, broken, part) for part in reversed(doc.parts)]
            case _Group():
                now = everything or (broken and not _fits(WIDTH - column, doc, stack))
                stack += [(level, now, part) for part in reversed(doc.parts)]
            case _IfBroken():
                if broken:
                    line += doc.text
                    column += len(doc.text)
            case _:
                assert_never(doc)
    return [*done, line]


def _fits(room: int, group: _Group, rest: list[tuple[int, bool, _Doc]]) -> bool:
    """Whether the group on one line, and what follows up to the next break, has room."""
    ahead: list[tuple[bool, _Doc]] = [(False, group)]
    following = len(rest)
    while room >= 0:
        if not ahead:
            if following == 0:
                return True
            following -= 1
            _, broken, doc = rest[following]
            ahead.append((broken, doc))
            continue
        broken, doc = ahead.pop()
        match doc:
            case str():
                room -= columns(doc)
            case _Break():
                if broken:
                    return True
                room -= len(doc.flat)
            case _Indent():
                ahead += [(broken, part) for part in reversed(doc.parts)]
            case _Group():
                # Groups behind this one may still break, so their first break ends the line.
                ahead += [(broken, part) for part in reversed(doc.parts)]
            case _IfBroken():
                if broken:
                    room -= len(doc.text)
            case _:
                assert_never(doc)
    return False
