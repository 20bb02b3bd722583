"""Operators and numbers.

Invariant: the type of a result follows from the operator and the types of its operands alone.
"""

from __future__ import annotations

from slicc import ir
from slicc.ir import type_rules
from slicc.resolve.bodies import expressions as ex
from slicc.resolve.bodies.context import Body, unknown
from slicc.resolve.bodies.suggestions import suggest_truth
from slicc.syntax import nodes as syntax

_BINARY = {operator.value: operator for operator in ir.BinaryOperator}
INT_MAX = 2**31 - 1


def binary(body: Body, node: syntax.Binary) -> ir.Expr:
    if node.operator == "*":
        scaled = _scaled(body, node)
        if scaled is not None:
            return scaled
        if _declares_pointer(body, node):
            return unknown(node.span)
    left = ex.expression(body, node.left)
    right = ex.expression(body, node.right)
    operator = _BINARY[node.operator]
    result = type_rules.binary_result(operator, left.type, right.type)
    if result is None:
        body.sink.error(
            "type-mismatch-operand",
            f"`{type_rules.describe(left.type)} {node.operator} {type_rules.describe(right.type)}` "
            "does not exist",
            node.operator_span,
            "no such operation",
            help=_operand_help(left.type, right.type),
        )
        comparison = type_rules.binary_result(operator, ir.UNKNOWN, ir.UNKNOWN)
        return ir.Local("?", comparison or ir.UNKNOWN, span=node.span)
    divides = operator in (ir.BinaryOperator.DIVIDE, ir.BinaryOperator.REMAINDER)
    if divides and isinstance(right, ir.IntConst) and right.value == 0:
        body.sink.error("division-by-zero", "nothing can be divided by zero", right.span, "is zero")
    return ir.Binary(operator, left, right, result, span=node.span)


def _declares_pointer(body: Body, node: syntax.Binary) -> bool:
    """Report ``Entry * e``."""
    left, right = node.left, node.right
    if not isinstance(left, syntax.Variable) or not isinstance(right, syntax.Variable):
        return False
    name = left.name.text
    if body.locals.find(name) is not None or body.scope.find_type(name) is None:
        return False
    body.misses.first("variable", right.name.text, right.name.span)
    body.sink.error(
        "unsupported-construct",
        "a variable is declared without `*`",
        node.operator_span,
        help="leave it out: variables of entries and TBEs are pointers",
    )
    return True


def _scaled(body: Body, node: syntax.Binary) -> ir.Expr | None:
    """``1.25 * latency``: the one use of a fraction, computed exactly and cut off."""
    literal, other = node.left, node.right
    if not isinstance(literal, syntax.FloatLiteral):
        literal, other = other, literal
    if not isinstance(literal, syntax.FloatLiteral):
        return None
    value = ex.expression(body, other)
    from fractions import Fraction

    factor = Fraction(literal.text)
    if value.type not in (ir.INT, ir.CYCLES) or factor.numerator > INT_MAX:
        return None
    numerator = ir.IntConst(factor.numerator, ir.INT, span=literal.span)
    denominator = ir.IntConst(factor.denominator, ir.INT, span=literal.span)
    times, over = ir.BinaryOperator.MULTIPLY, ir.BinaryOperator.DIVIDE
    product = ir.Binary(times, value, numerator, value.type, span=node.span)
    return ir.Binary(over, product, denominator, value.type, span=node.span)


def _operand_help(left: ir.Type, right: ir.Type) -> str | None:
    pair = {left, right}
    if pair == {ir.INT, type_rules.NODE_ID}:
        return "convert with `intToID` or `IDToInt`"
    if ir.INT in pair and ir.CYCLES in pair:
        return "convert with `intToCycles`"
    if ir.CYCLES in pair and ir.TICK in pair:
        return "convert with `cyclesToTicks` or `ticksToCycles`"
    if {type_rules.describe(each) for each in pair} == {"MachineID", "MachineType"}:
        return "take the type with `machineIDToMachineType`"
    return None


def unary(body: Body, node: syntax.Unary) -> ir.Expr:
    if node.operator == "-" and _is_most_negative(node.operand):
        return ir.IntConst(-INT_MAX - 1, ir.INT, span=node.span)
    operand = ex.expression(body, node.operand)
    match node.operator:
        case "!":
            operator, wanted = ir.UnaryOperator.NOT, ir.BOOL
        case "-":
            operator, wanted = ir.UnaryOperator.NEGATE, ir.INT
        case "++":
            return ex.misplaced(body, node.span, "`++` is a statement and has no value")
        case "--":
            body.sink.error(
                "unsupported-feature", "there is no operator `--`", node.span, "not in SLICC"
            )
            return unknown(node.span)
    if not type_rules.same(operand.type, wanted):
        body.sink.error(
            "type-mismatch-operand",
            f"`{node.operator}` takes `{type_rules.describe(wanted)}`",
            operand.span,
            f"is `{type_rules.describe(operand.type)}`",
            help=suggest_truth(operand.type, negated=True) if wanted == ir.BOOL else None,
        )
        return ir.Local("?", wanted, span=node.span)
    if isinstance(operand, ir.IntConst) and operator is ir.UnaryOperator.NEGATE:
        return ir.IntConst(-operand.value, operand.type, span=node.span)
    return ir.Unary(operator, operand, wanted, span=node.span)


def increment(body: Body, node: syntax.Unary) -> ir.Expr:
    """``++x`` as a statement: only statistics are counted this way."""
    operand = ex.expression(body, node.operand)
    if not type_rules.same(operand.type, type_rules.STATISTIC):
        body.sink.error(
            "type-mismatch-operand",
            "`++` counts a statistic",
            operand.span,
            f"is `{type_rules.describe(operand.type)}`",
            help="write `x := x + 1`" if operand.type == ir.INT else None,
        )
    return ir.Unary(ir.UnaryOperator.INCREMENT, operand, type_rules.STATISTIC, span=node.span)


def _is_most_negative(node: syntax.Expression) -> bool:
    """The one number that is a literal behind `-` only."""
    return isinstance(node, syntax.NumberLiteral) and node.value == INT_MAX + 1


def number(body: Body, node: syntax.NumberLiteral) -> ir.Expr:
    if node.value > INT_MAX:
        body.sink.error(
            "number-out-of-range",
            "a number literal is an `int` of 32 bits",
            node.span,
            f"larger than {INT_MAX}",
        )
        return unknown(node.span)
    return ir.IntConst(node.value, ir.INT, span=node.span)


def fraction(body: Body, node: syntax.FloatLiteral) -> ir.Expr:
    body.sink.error(
        "float-literal",
        "SLICC has no fractions, except as factors",
        node.span,
        "not a whole number",
        help="`1.25 * n` is accepted; a number that is only printed can stand in the text",
    )
    return ir.Local("?", ir.INT, span=node.span)
