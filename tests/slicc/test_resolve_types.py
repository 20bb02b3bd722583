"""The rules of typing, as a table: operations that exist, and ones that do not."""

from __future__ import annotations

import pytest

from slicc import ir, types
from slicc.ir import BinaryOperator as Op

DATA = ir.ClassType("DataBlock", value=True)
ENTRY = ir.PointerType(ir.TypeRef("L1Cache", "Entry"))


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        (Op.EQUAL, ir.INT, ir.INT, ir.BOOL),
        (Op.EQUAL, DATA, DATA, ir.BOOL),
        (Op.LESS, ir.ADDR, ir.INT, ir.BOOL),
        (Op.EQUAL, ir.CYCLES, ir.INT, None),
        (Op.EQUAL, ir.INT, types.NODE_ID, None),
        (Op.AND, ir.BOOL, ir.BOOL, ir.BOOL),
        (Op.AND, ir.INT, ir.BOOL, None),
        (Op.ADD, ir.INT, ir.BOOL, ir.INT),
        (Op.ADD, ir.ADDR, ir.INT, ir.ADDR),
        (Op.ADD, ir.CYCLES, ir.INT, ir.CYCLES),
        (Op.ADD, ir.CYCLES, ir.TICK, None),
        (Op.ADD, ir.BOOL, ir.BOOL, None),
        (Op.REMAINDER, ir.ADDR, ir.ADDR, ir.ADDR),
        (Op.SHIFT_RIGHT, ir.CYCLES, ir.INT, ir.CYCLES),
        (Op.SHIFT_LEFT, ir.ADDR, ir.INT, None),
        (Op.MULTIPLY, types.STATISTIC, ir.INT, types.STATISTIC),
        (Op.ADD, ir.UNKNOWN, DATA, DATA),
        (Op.LESS, ir.UNKNOWN, DATA, ir.BOOL),
        (Op.LESS, DATA, DATA, None),
        (Op.EQUAL, DATA, DATA, ir.BOOL),
    ],
)
def test_binary_operations(
    operator: Op, left: ir.Type, right: ir.Type, result: ir.Type | None
) -> None:
    assert types.binary_result(operator, left, right) == result


def test_unknown_agrees_with_everything_and_elements_do_not_count() -> None:
    assert types.same(ir.UNKNOWN, DATA)
    assert types.same(ir.ClassType("TBETable", element=ENTRY), ir.ClassType("TBETable"))
    assert not types.same(ir.ADDR, ir.INT)


def test_kinds_of_types() -> None:
    assert types.is_mutable_value(DATA)
    assert types.is_mutable_value(ir.StructType(ir.TypeRef(None, "Pair")))
    assert not types.is_mutable_value(types.MACHINE_ID)
    assert not types.is_mutable_value(ENTRY)
    assert types.is_pointer(ENTRY)
    assert not types.is_pointer(ir.INT)
