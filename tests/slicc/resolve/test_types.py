"""The rules of typing, as a table: operations that exist, and ones that do not."""

from __future__ import annotations

import pytest

from slicc import ir
from slicc.ir import BinaryOperator as Op
from slicc.ir import type_rules

DATA = ir.ClassType("DataBlock", value=True)
ENTRY = ir.PointerType(ir.TypeRef("L1Cache", "Entry"))


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        (Op.EQUAL, ir.INT, ir.INT, ir.BOOL),
        (Op.EQUAL, DATA, DATA, ir.BOOL),
        (Op.LESS, ir.ADDR, ir.INT, ir.BOOL),
        (Op.EQUAL, ir.CYCLES, ir.INT, None),
        (Op.EQUAL, ir.INT, type_rules.NODE_ID, None),
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
        (Op.MULTIPLY, type_rules.STATISTIC, ir.INT, type_rules.STATISTIC),
        (Op.ADD, ir.UNKNOWN, DATA, DATA),
        (Op.LESS, ir.UNKNOWN, DATA, ir.BOOL),
        (Op.LESS, DATA, DATA, None),
        (Op.EQUAL, DATA, DATA, ir.BOOL),
    ],
)
def test_binary_operations(
    operator: Op, left: ir.Type, right: ir.Type, result: ir.Type | None
) -> None:
    assert type_rules.binary_result(operator, left, right) == result


def test_unknown_agrees_with_everything_and_elements_do_not_count() -> None:
    assert type_rules.same(ir.UNKNOWN, DATA)
    assert type_rules.same(ir.ClassType("TBETable", element=ENTRY), ir.ClassType("TBETable"))
    assert not type_rules.same(ir.ADDR, ir.INT)


def test_kinds_of_types() -> None:
    assert type_rules.is_mutable_value(DATA)
    assert type_rules.is_mutable_value(ir.StructType(ir.TypeRef(None, "Pair")))
    assert not type_rules.is_mutable_value(type_rules.MACHINE_ID)
    assert not type_rules.is_mutable_value(ENTRY)
    assert type_rules.is_pointer(ENTRY)
    assert not type_rules.is_pointer(ir.INT)
