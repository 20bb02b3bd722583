"""Operators over abstract values, as the engines compute them.

Invariant: an unknown operand makes an unknown result; so does everything that is not kept (data,
copies of records, the order of enumeration members) or not modelled (divisions, shifts too far).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from slicc import ir
from slicc.analysis.product.values import DATA, UNKNOWN, Value
from slicc.codegen.integer_rules import common, wrapped
from slicc.ir import BinaryOperator as Op

_COMPARISONS: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.EQUAL: operator.eq,
    Op.NOT_EQUAL: operator.ne,
    Op.LESS: operator.lt,
    Op.GREATER: operator.gt,
    Op.LESS_EQUAL: operator.le,
    Op.GREATER_EQUAL: operator.ge,
}
_ARITHMETIC: Final[dict[Op, Callable[[Any, Any], Any]]] = {
    Op.ADD: operator.add,
    Op.SUBTRACT: operator.sub,
    Op.MULTIPLY: operator.mul,
    Op.SHIFT_LEFT: operator.lshift,
    Op.SHIFT_RIGHT: operator.rshift,
}


def binary(
    kind: Op, left: ir.Type, right: ir.Type, result: ir.Type
) -> Callable[[Value, Value], Value]:
    """An operator between operands of two types, both known; not ``&&`` and ``||``."""
    if kind in _COMPARISONS:
        return _comparison(kind, left, right)
    return _arithmetic(kind, result)


def unary(kind: ir.UnaryOperator, type: ir.Type) -> Callable[[Value], Value]:
    """What an operator makes of a value of the type; of ``++`` the value that is stored."""
    match kind:
        case ir.UnaryOperator.NOT:
            return lambda value: UNKNOWN if value is UNKNOWN else not value
        case ir.UnaryOperator.INCREMENT:
            return plus(1, type)
        case _:
            negated = _integer(operator.neg, type)
            return lambda value: UNKNOWN if value is UNKNOWN else negated(value)


def plus(number: int, type: ir.Type) -> Callable[[Value], Value]:
    """A value of the type and a number more."""
    added = _integer(lambda value: value + number, type)
    return lambda value: UNKNOWN if value is UNKNOWN else added(value)


def converted(source: ir.Type, type: ir.Type) -> Callable[[Value], Value]:
    """A value of one type as one of another: a pointer is the same, a number fits."""
    number = _kind(type)
    if number is None and type != ir.BOOL:
        return lambda value: value
    if not isinstance(source, ir.ScalarType):
        return lambda value: UNKNOWN  # members are kept as names, not by their numbers
    if number is None:
        return lambda value: UNKNOWN if value is UNKNOWN else value != 0
    return lambda value: UNKNOWN if value is UNKNOWN else wrapped(value, number)


def _kind(type: ir.Type) -> ir.ScalarKind | None:
    """The integers of a type; None: its values are none."""
    return type.kind if isinstance(type, ir.ScalarType) and type.kind.bits else None


def _integer(operation: Callable[..., Any], type: ir.Type) -> Callable[..., Value]:
    """An operation whose result wraps as integers of the type do; of other types, unknown."""
    number = _kind(type)
    if number is None:
        return lambda *values: UNKNOWN
    return lambda *values: wrapped(operation(*values), number)


def _arithmetic(kind: Op, type: ir.Type) -> Callable[[Value, Value], Value]:
    if kind not in _ARITHMETIC:
        return lambda x, y: UNKNOWN
    made, number = _integer(_ARITHMETIC[kind], type), _kind(type)
    if kind in (Op.SHIFT_LEFT, Op.SHIFT_RIGHT) and number is not None:
        return lambda x, y: made(x, y) if 0 <= y < number.bits else UNKNOWN
    return made


def _comparison(kind: Op, left: ir.Type, right: ir.Type) -> Callable[[Value, Value], Value]:
    operation = _COMPARISONS[kind]
    shared = common(left, right)
    if shared is not None and left != right:
        number = shared.kind
        return lambda x, y: operation(wrapped(x, number), wrapped(y, number))
    if isinstance(left, ir.ScalarType):
        return operation
    if kind not in (Op.EQUAL, Op.NOT_EQUAL):
        return lambda x, y: UNKNOWN  # members are kept as names, not in their order

    def compared(x: Value, y: Value) -> Value:
        if x is DATA or (isinstance(x, dict) and isinstance(y, dict) and x is not y):
            return UNKNOWN  # data is not kept, and a record may be a copy
        return operation(x, y)

    return compared
