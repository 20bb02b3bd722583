"""Which types agree with each other: SLICC's typing rules, all in this module.

Invariant: :data:`slicc.ir.UNKNOWN` agrees with everything, so an error is not reported again.
"""

from __future__ import annotations

from slicc import ir
from slicc.ir import BinaryOperator as Op
from slicc.ir import ScalarKind as Kind

SCALARS: dict[str, ir.ScalarType] = {kind.spelling: ir.ScalarType(kind) for kind in Kind}

UINT64 = SCALARS["uint64_t"]
NODE_ID = SCALARS["NodeID"]
STATISTIC = SCALARS["Scalar"]
MACHINE_ID = ir.ClassType("MachineID", value=True, immutable=True)
MACHINE_TYPE = ir.EnumType(ir.TypeRef(None, "MachineType"))
ACCESS_PERMISSION = ir.EnumType(ir.TypeRef(None, "AccessPermission"))


def same(left: ir.Type, right: ir.Type) -> bool:
    """Whether two types are one type to SLICC (element types of classes do not count)."""
    if left == right:
        return True
    if isinstance(left, ir.UnknownType) or isinstance(right, ir.UnknownType):
        return True
    if isinstance(left, ir.ClassType) and isinstance(right, ir.ClassType):
        return left.name == right.name
    return False


def is_integer(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ScalarType) and type_.kind.bits > 0


def is_mutable_value(type_: ir.Type) -> bool:
    """Values that can change in place, so that storing one elsewhere needs a copy."""
    if isinstance(type_, ir.StructType):
        return True
    return isinstance(type_, ir.ClassType) and type_.value and not type_.immutable


def is_pointer(type_: ir.Type) -> bool:
    """Types with a null."""
    if isinstance(type_, ir.ClassType):
        return not type_.value
    return isinstance(type_, ir.PointerType)


def describe(type_: ir.Type) -> str:
    """The author's name of a type."""
    match type_:
        case ir.ScalarType():
            return type_.kind.spelling
        case ir.EnumType() | ir.StructType() | ir.PointerType():
            return type_.ref.name
        case ir.ClassType():
            return type_.name
        case ir.VoidType():
            return "void"
        case ir.UnknownType():
            return "?"


def with_article(type_: ir.Type) -> str:
    """``an `int```, ``a `uint64_t```."""
    name = describe(type_)
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} `{name}`"


_EQUALITY = frozenset({Op.EQUAL, Op.NOT_EQUAL})
_ORDER = frozenset({Op.LESS, Op.GREATER, Op.LESS_EQUAL, Op.GREATER_EQUAL})
COMPARISONS = _EQUALITY | _ORDER
_LOGIC = frozenset({Op.AND, Op.OR})
_SHIFTS = frozenset({Op.SHIFT_LEFT, Op.SHIFT_RIGHT})

_ARITHMETIC: dict[tuple[ir.Type, ir.Type], ir.Type] = {
    (ir.INT, ir.INT): ir.INT,
    (ir.CYCLES, ir.CYCLES): ir.CYCLES,
    (ir.TICK, ir.TICK): ir.TICK,
    (ir.ADDR, ir.ADDR): ir.ADDR,
    (ir.CYCLES, ir.INT): ir.CYCLES,
    (ir.INT, ir.CYCLES): ir.CYCLES,
    (ir.ADDR, ir.INT): ir.ADDR,
    (ir.INT, ir.ADDR): ir.ADDR,
    (ir.INT, ir.BOOL): ir.INT,
    (ir.BOOL, ir.INT): ir.INT,
    (STATISTIC, ir.INT): STATISTIC,
}


def _is_ordered(type_: ir.Type) -> bool:
    """Whether ``<`` is defined: for numbers and enumerations, not for structured values."""
    return isinstance(type_, ir.ScalarType | ir.EnumType)


def binary_result(operator: Op, left: ir.Type, right: ir.Type) -> ir.Type | None:
    """The type of ``left operator right``, or None when SLICC has no such operation."""
    unknown = isinstance(left, ir.UnknownType) or isinstance(right, ir.UnknownType)
    if operator in COMPARISONS:
        pair = {left, right}
        if ir.VOID in pair:
            return None
        if operator in _ORDER and not unknown and not all(map(_is_ordered, pair)):
            return None
        if unknown or same(left, right) or pair == {ir.ADDR, ir.INT}:
            return ir.BOOL
        return None
    if operator in _LOGIC:
        return ir.BOOL if same(left, ir.BOOL) and same(right, ir.BOOL) else None
    if unknown:
        return left if isinstance(right, ir.UnknownType) else right
    if operator in _SHIFTS:
        return left if right == ir.INT and left in (ir.INT, ir.CYCLES) else None
    return _ARITHMETIC.get((left, right))
