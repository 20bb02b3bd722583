"""Conditions as a reader would write them: IR in, IR out, for every backend.

Invariant: the result has the value of the original and evaluates the same parts in the same order.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.ir import BinaryOperator as Op
from slicc.ir.types import BOOL

COMPARISON = {
    Op.EQUAL: "==",
    Op.NOT_EQUAL: "!=",
    Op.LESS: "<",
    Op.GREATER: ">",
    Op.LESS_EQUAL: "<=",
    Op.GREATER_EQUAL: ">=",
}


def settled(node: ir.Expr) -> ir.Expr:
    """Without comparisons with ``true`` or ``false``, and with ``!(a == b)`` as ``a != b``."""
    match node:
        case ir.Unary(operator=ir.UnaryOperator.NOT):
            return opposite(node.operand)
        case ir.Binary(operator=Op.EQUAL | Op.NOT_EQUAL, left=left, right=right):
            for known, other in ((left, right), (right, left)):
                if isinstance(known, ir.BoolConst):
                    same = known.value is (node.operator is Op.EQUAL)
                    return settled(other) if same else opposite(other)
        case _:
            pass
    return node


def opposite(node: ir.Expr) -> ir.Expr:
    """``!node``."""
    match settled(node):
        case ir.BoolConst() as known:
            return replace(known, value=not known.value)
        case ir.Unary(operator=ir.UnaryOperator.NOT) as negation:
            return negation.operand
        case ir.Binary(operator=Op.EQUAL) as same:
            return replace(same, operator=Op.NOT_EQUAL)
        case ir.Binary(operator=Op.NOT_EQUAL) as different:
            return replace(different, operator=Op.EQUAL)
        case other:
            return ir.Unary(ir.UnaryOperator.NOT, other, BOOL, span=other.span)
