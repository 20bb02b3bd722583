"""What is computed of times and counters alone: sums of them, and comparisons of times.

Invariant: computing what is recognised here changes nothing.
"""

from __future__ import annotations

from slicc import ir

_TIMES = (ir.ScalarKind.CYCLES, ir.ScalarKind.TICK)
_COUNTS = (ir.ScalarKind.INT, ir.ScalarKind.UINT32, ir.ScalarKind.UINT64)
CLOCK = frozenset(
    {"clockEdge", "curCycle", "curTick", "cyclesToTicks", "ticksToCycles", "zero_time"}
)
SUMS = (
    ir.BinaryOperator.ADD,
    ir.BinaryOperator.SUBTRACT,
    ir.BinaryOperator.SHIFT_LEFT,
    ir.BinaryOperator.SHIFT_RIGHT,
)
"""Not a quotient: a zero below it is a verdict."""
_JOINED = (ir.BinaryOperator.AND, ir.BinaryOperator.OR)
_COMPARISONS = (
    ir.BinaryOperator.EQUAL,
    ir.BinaryOperator.NOT_EQUAL,
    ir.BinaryOperator.LESS,
    ir.BinaryOperator.LESS_EQUAL,
    ir.BinaryOperator.GREATER,
    ir.BinaryOperator.GREATER_EQUAL,
)


def is_time(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ScalarType) and type_.kind in _TIMES


def may_measure(type_: ir.Type) -> bool:
    """Whether an object of a machine may be a time or a counter."""
    return isinstance(type_, ir.ScalarType) and type_.kind in (*_TIMES, *_COUNTS)


def compares_times(condition: ir.Expr) -> bool:
    """Whether it is made of comparisons of times alone, and computing it changes nothing."""
    match condition:
        case ir.Binary(operator=operator, left=left, right=right) if operator in _JOINED:
            return compares_times(left) and compares_times(right)
        case ir.Binary(operator=operator, left=left, right=right) if operator in _COMPARISONS:
            times = is_time(left.type) and is_time(right.type)
            return times and only_sums(left) and only_sums(right)
        case ir.Unary(operator=ir.UnaryOperator.NOT, operand=operand):
            return compares_times(operand)
        case _:
            return False


def only_sums(value: ir.Expr) -> bool:
    """Whether it is made of times, of a machine's counters and of the clock, and computing it
    changes nothing."""
    match value:
        case ir.Binary(operator=operator, left=left, right=right) if operator in SUMS:
            return only_sums(left) and only_sums(right)
        case ir.CallBuiltin(name=name, arguments=arguments) if name in CLOCK:
            return all(map(only_sums, arguments))
        case ir.IntConst():
            return True
        case ir.FieldAccess(receiver=ir.Local() | ir.TransactionValue() | ir.FieldAccess()):
            return is_time(value.type)
        case ir.MachineObject():
            return may_measure(value.type)
        case ir.SelfField():
            return is_time(value.type)
        case _:
            return False
