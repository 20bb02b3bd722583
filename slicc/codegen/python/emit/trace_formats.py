"""Trace formats of the language as formats of Python's ``%`` operator.

Invariant: for any format and arguments of the author, formatting with the result raises nothing:
the conversions match the arguments in number and in kind.
"""

from __future__ import annotations

import re

from slicc import ir
from slicc.codegen.python.emit.expressions import Expressions
from slicc.codegen.python.emit.python_tree import Code
from slicc.text import python_source

_CONVERSION = re.compile(r"%(?:%|([-+ #0]*)(\d*)(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z]))")


def python_format(
    format_: str, arguments: tuple[ir.Expr, ...], expression: Expressions
) -> tuple[str, list[Code]]:
    """The format and its arguments, in Python's terms."""
    codes: list[Code] = []
    remaining = list(arguments)

    def replace(match: re.Match[str]) -> str:
        flags, width, kind = match.groups()
        if kind is None:
            return "%%"
        if not remaining:
            return "%" + match.group().replace("%", "%%")[1:]
        argument = remaining.pop(0)
        if kind in "xXdiup" and _is_number(argument.type):
            codes.append(expression(argument))
            if kind == "p":
                return f"%#{width}x"
            return f"%{flags}{width}{'d' if kind in 'iu' else kind}"
        codes.append(readable(argument, expression))
        return f"%{'-' if '-' in flags else ''}{width}s"

    parts: list[str] = []
    end = 0
    for match in _CONVERSION.finditer(format_):
        parts.append(format_[end : match.start()].replace("%", "%%"))
        parts.append(replace(match))
        end = match.end()
    parts.append(format_[end:].replace("%", "%%"))
    for argument in remaining:
        parts.append(" %s")
        codes.append(readable(argument, expression))
    return "".join(parts), codes


def readable(node: ir.Expr, expression: Expressions) -> Code:
    """The value as a person reads it: enumeration values by name."""
    if isinstance(node, ir.StringConst):
        return Code(python_source.string_literal(node.value))
    if isinstance(node.type, ir.EnumType):
        return expression.name_of(node)
    return expression(node)


def _is_number(type_: ir.Type) -> bool:
    if isinstance(type_, ir.EnumType):
        return True
    return isinstance(type_, ir.ScalarType) and type_.kind is not ir.ScalarKind.STRING
