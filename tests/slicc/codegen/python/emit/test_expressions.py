"""Integer expressions mean in Python what they mean in the language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime.types.integers
from runtime.errors import ProtocolError
from slicc import ir
from slicc.codegen.python.emit.expressions import Expressions, Scope
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.names import ProtocolNames
from slicc.ir import BinaryOperator as Op
from slicc.ir import ScalarKind as Kind
from slicc.source import NOWHERE

EMPTY = ir.Protocol("Empty", (), (), (), span=NOWHERE)
VARIABLES = {
    "i": (Kind.INT, -7),
    "j": (Kind.INT, 0x7FFFFFFF),
    "k": (Kind.INT, -0x80000000),
    "u": (Kind.UINT32, 0xFFFFFFFE),
    "a": (Kind.ADDR, 0xFFFFFFFFFFFFFFC0),
    "c": (Kind.CYCLES, 3),
    "zero": (Kind.INT, 0),
    "yes": (Kind.BOOL, True),
}
COMPARISONS = [Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.GREATER, Op.LESS_EQUAL, Op.GREATER_EQUAL]
ARITHMETIC = [Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.REMAINDER]
RESULTS = {
    (Kind.INT, Kind.INT): Kind.INT,
    (Kind.ADDR, Kind.ADDR): Kind.ADDR,
    (Kind.CYCLES, Kind.CYCLES): Kind.CYCLES,
    (Kind.ADDR, Kind.INT): Kind.ADDR,
    (Kind.INT, Kind.ADDR): Kind.ADDR,
    (Kind.CYCLES, Kind.INT): Kind.CYCLES,
    (Kind.INT, Kind.CYCLES): Kind.CYCLES,
    (Kind.INT, Kind.BOOL): Kind.INT,
    (Kind.UINT32, Kind.UINT32): Kind.UINT32,
}


class Verdict(Exception):
    """Division by zero or a bad shift."""


def scalar(node: ir.Expr) -> Kind:
    assert isinstance(node.type, ir.ScalarType)
    return node.type.kind


def store(value: int, kind: Kind) -> int:
    """What a machine integer of the kind holds, computed the slow way."""
    if kind.bits == 0:
        return value
    value %= 2**kind.bits
    return value - 2**kind.bits if kind.signed and value >= 2 ** (kind.bits - 1) else value


def naive(node: ir.Expr) -> int:
    """The value by the rules of C, one operation at a time."""
    match node:
        case ir.IntConst():
            return node.value
        case ir.Local():
            return VARIABLES[node.name][1]
        case ir.Cast():
            return store(naive(node.operand), scalar(node))
        case ir.Unary(operator=ir.UnaryOperator.NOT):
            return not naive(node.operand)
        case ir.Unary():
            return store(-naive(node.operand), scalar(node))
        case ir.Binary(operator=Op.AND):
            return naive(node.left) and naive(node.right)
        case ir.Binary(operator=Op.OR):
            return naive(node.left) or naive(node.right)
        case ir.Binary(operator=operator) if operator in COMPARISONS:
            left, right = naive(node.left), naive(node.right)
            kinds = {scalar(node.left), scalar(node.right)}
            if len(kinds) > 1:
                common = max(kinds, key=lambda kind: (kind.bits, not kind.signed))
                left, right = store(left, common), store(right, common)
            return {
                Op.EQUAL: left == right,
                Op.NOT_EQUAL: left != right,
                Op.LESS: left < right,
                Op.GREATER: left > right,
                Op.LESS_EQUAL: left <= right,
                Op.GREATER_EQUAL: left >= right,
            }[operator]
        case ir.Binary():
            return _arithmetic(node)
        case _:
            raise AssertionError(node)


def _arithmetic(node: ir.Binary) -> int:
    kind = scalar(node)
    left = store(naive(node.left), kind)
    if node.operator in {Op.SHIFT_LEFT, Op.SHIFT_RIGHT}:
        amount = naive(node.right)
        if not 0 <= amount < kind.bits:
            raise Verdict
        shifted = left << amount if node.operator is Op.SHIFT_LEFT else left >> amount
        return store(shifted, kind)
    right = store(naive(node.right), kind)
    match node.operator:
        case Op.ADD:
            result = left + right
        case Op.SUBTRACT:
            result = left - right
        case Op.MULTIPLY:
            result = left * right
        case _:
            if right == 0:
                raise Verdict
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            result = quotient if node.operator is Op.DIVIDE else left - quotient * right
    return store(result, kind)


def local(name: str) -> ir.Expr:
    return ir.Local(name, ir.ScalarType(VARIABLES[name][0]), span=NOWHERE)


def number(value: int) -> ir.Expr:
    return ir.IntConst(value, ir.INT, span=NOWHERE)


INTEGERS = [name for name, (kind, _) in VARIABLES.items() if kind is not Kind.BOOL]
LEAVES = st.one_of(
    st.sampled_from(INTEGERS).map(local),
    st.sampled_from([0, 1, 2, 7, 0x7FFFFFFF, -0x80000000, -1]).map(number),
)


@st.composite
def _operation(draw: st.DrawFn, inner: st.SearchStrategy[ir.Expr]) -> ir.Expr:
    left = draw(inner)
    kind = scalar(left)
    if draw(st.integers(0, 5)) == 0:
        return ir.Unary(ir.UnaryOperator.NEGATE, left, left.type, span=NOWHERE)
    if draw(st.integers(0, 5)) == 0 and kind is not Kind.ADDR:
        sign = draw(st.sampled_from([Op.SHIFT_LEFT, Op.SHIFT_RIGHT]))
        amount = draw(st.sampled_from([number(0), number(5), number(31), local("c"), local("i")]))
        return ir.Binary(sign, left, amount, left.type, span=NOWHERE)
    if draw(st.integers(0, 5)) == 0:
        target = draw(st.sampled_from([Kind.INT, Kind.UINT32, Kind.ADDR]))
        return ir.Cast(left, ir.ScalarType(target), span=NOWHERE)
    right = draw(inner)
    result = RESULTS.get((kind, scalar(right)))
    if result is None:
        right, result = left, kind
    sign = draw(st.sampled_from(ARITHMETIC))
    return ir.Binary(sign, left, right, ir.ScalarType(result), span=NOWHERE)


NUMBERS = st.recursive(LEAVES, _operation, max_leaves=8)


@st.composite
def _comparison(draw: st.DrawFn) -> ir.Expr:
    left, right = draw(NUMBERS), draw(NUMBERS)
    return ir.Binary(draw(st.sampled_from(COMPARISONS)), left, right, ir.BOOL, span=NOWHERE)


@st.composite
def _logic(draw: st.DrawFn, inner: st.SearchStrategy[ir.Expr]) -> ir.Expr:
    left = draw(inner)
    if draw(st.booleans()):
        return ir.Unary(ir.UnaryOperator.NOT, left, ir.BOOL, span=NOWHERE)
    sign = draw(st.sampled_from([Op.AND, Op.OR]))
    return ir.Binary(sign, left, draw(inner), ir.BOOL, span=NOWHERE)


CONDITIONS = st.recursive(st.one_of(_comparison(), st.just(local("yes"))), _logic, max_leaves=6)


def emitted(node: ir.Expr) -> str:
    scope = Scope(ProtocolNames(EMPTY), Imports(), None, None)
    return Expressions(scope)(node).text


def check(node: ir.Expr) -> None:
    values = {name: value for name, (_, value) in VARIABLES.items()}
    text = emitted(node)
    try:
        expected = naive(node)
    except Verdict:
        with pytest.raises(ProtocolError):
            eval(text, vars(runtime.types.integers), values)
        return
    assert eval(text, vars(runtime.types.integers), values) == expected


@given(NUMBERS)
def test_arithmetic_wraps_as_declared(node: ir.Expr) -> None:
    check(node)


@given(CONDITIONS)
def test_conditions_decide_in_order(node: ir.Expr) -> None:
    check(node)


def add(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(Op.ADD, left, right, ir.INT, span=NOWHERE)


def test_a_sum_is_wrapped_once() -> None:
    total = add(add(local("i"), local("j")), local("k"))
    assert emitted(total) == "int32(i + j + k)"


def test_comparing_with_a_constant_costs_nothing() -> None:
    test = ir.Binary(Op.EQUAL, local("i"), number(-3), ir.BOOL, span=NOWHERE)
    assert emitted(test) == "i == -3"


def test_truth_values_are_not_compared() -> None:
    no = ir.BoolConst(False, span=NOWHERE)
    test = ir.Binary(Op.EQUAL, local("yes"), no, ir.BOOL, span=NOWHERE)
    assert emitted(test) == "not yes"
    test = ir.Binary(Op.NOT_EQUAL, no, local("yes"), ir.BOOL, span=NOWHERE)
    assert emitted(test) == "yes"
