"""Negations and comparisons with constants become what a reader would write."""

from __future__ import annotations

import pytest

from slicc import ir
from slicc.codegen.conditions import opposite, settled
from slicc.ir import BinaryOperator as Op
from slicc.ir.types import BOOL
from slicc.source import BUILTIN, Span

HERE = Span(BUILTIN, 0, 0)
A = ir.Local("a", BOOL, span=HERE)
B = ir.Local("b", BOOL, span=HERE)
TRUE, FALSE = (ir.BoolConst(value, span=HERE) for value in (True, False))


def no(operand: ir.Expr) -> ir.Expr:
    return ir.Unary(ir.UnaryOperator.NOT, operand, BOOL, span=HERE)


def compared(left: ir.Expr, operator: Op, right: ir.Expr) -> ir.Expr:
    return ir.Binary(operator, left, right, BOOL, span=HERE)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (no(TRUE), FALSE),
        (no(no(A)), A),
        (no(A), no(A)),
        (compared(A, Op.EQUAL, TRUE), A),
        (compared(FALSE, Op.NOT_EQUAL, A), A),
        (compared(A, Op.EQUAL, FALSE), no(A)),
        (no(compared(A, Op.EQUAL, B)), compared(A, Op.NOT_EQUAL, B)),
        (no(compared(no(A), Op.NOT_EQUAL, TRUE)), no(A)),
        (compared(compared(A, Op.EQUAL, B), Op.EQUAL, FALSE), compared(A, Op.NOT_EQUAL, B)),
        (no(compared(A, Op.AND, B)), no(compared(A, Op.AND, B))),
        (compared(A, Op.AND, TRUE), compared(A, Op.AND, TRUE)),
    ],
)
def test_a_condition_is_settled(written: ir.Expr, read: ir.Expr) -> None:
    assert settled(written) == read
    assert settled(opposite(opposite(written))) == read
