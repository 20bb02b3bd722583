"""Rules about types and integers that every backend follows.

Invariant: these functions read the IR only; their results hold for any target language.
"""

from __future__ import annotations

from slicc import ir
from slicc.ir import BinaryOperator as Op

ARITHMETIC = {Op.ADD: "+", Op.SUBTRACT: "-", Op.MULTIPLY: "*"}


class CannotEmit(Exception):
    """The IR holds what verified IR does not: a bug of the compiler, not of a protocol."""


def integer_kind(type_: ir.Type) -> ir.ScalarKind:
    if isinstance(type_, ir.ScalarType) and type_.kind.bits:
        return type_.kind
    raise CannotEmit(f"arithmetic on {type_}")


def wrapped(value: int, kind: ir.ScalarKind) -> int:
    """The value of an integer of that kind after storing ``value``."""
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind.signed and value >> (kind.bits - 1) else value


def constant(node: ir.Expr) -> int | None:
    """The exact value of sums and products of constants, before any wrapping."""
    match node:
        case ir.IntConst():
            return node.value
        case ir.Binary() if node.operator in ARITHMETIC:
            left, right = constant(node.left), constant(node.right)
            if left is None or right is None:
                return None
            if node.operator is Op.ADD:
                return left + right
            return left - right if node.operator is Op.SUBTRACT else left * right
        case _:
            return None


def holds(target: ir.ScalarKind, source: ir.ScalarKind) -> bool:
    """Whether every value of ``source`` is one of ``target``."""
    if source.signed == target.signed:
        return source.bits <= target.bits
    return target.signed and source.bits < target.bits


def common(left: ir.Type, right: ir.Type) -> ir.ScalarType | None:
    """The type in which two integers are compared; None when nothing needs converting."""
    if not (isinstance(left, ir.ScalarType) and isinstance(right, ir.ScalarType)):
        return None
    if not left.kind.bits or not right.kind.bits:
        return None
    if left.kind.bits != right.kind.bits:
        return left if left.kind.bits > right.kind.bits else right
    return right if left.kind.signed else left


def is_mutable(type_: ir.Type) -> bool:
    """Values that can change in place, so that storing one elsewhere needs a copy."""
    if isinstance(type_, ir.ClassType):
        return type_.value and not type_.immutable
    return isinstance(type_, ir.StructType)


def is_reference(type_: ir.Type) -> bool:
    if isinstance(type_, ir.ClassType):
        return not type_.value
    return isinstance(type_, ir.PointerType)
