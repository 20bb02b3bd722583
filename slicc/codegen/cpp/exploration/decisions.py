"""What a protocol makes of addresses and of data, as far as it may decide by that.

Lines take each other's places in an exploration if addresses are only handed on and compared with
each other: a number or an order of addresses tells lines apart. Data are tokens, of which states
keep what judgements of loads ask for; an assertion that blocks are equal can be judged if states
keep all of them apart, and holds for all data if it holds for tokens that are all different. No
other decision by data can be explored. Invariant: a use that is not understood is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from slicc import ir
from slicc.codegen import body_analysis
from slicc.text.lazy_dataclass import dataclass

_EQUALITY = (ir.BinaryOperator.EQUAL, ir.BinaryOperator.NOT_EQUAL)
_BY_ADDRESS = frozenset(
    {
        "addressOffset",
        "addressToInt",
        "bitSelect",
        "makeNextStrideAddress",
        "mapAddressToDownstreamMachine",
        "maskLowOrderBits",
    }
)
"""Not those that return what all lines have in common (`getOffset`), nor `mapAddressToMachine`: the
system says whether it tells lines apart."""
_WAKE_ALL = "wakeUpAllBuffers"
"""Without an address: lines are woken in the order of their addresses."""
_RANGE = "mapAddressToRange"
_DATA = "DataBlock"


@dataclass(slots=True)
class Decisions:
    """What one machine, or a structure, decides by. ``ranges``: parameters with the number of bits
    of an address that choose a machine. ``asserted``: whether data are asserted to be equal;
    ``compared``: other comparisons of data."""

    addresses: dict[str, None] = field(default_factory=dict)
    ranges: dict[str, None] = field(default_factory=dict)
    asserted: bool = False
    compared: dict[str, None] = field(default_factory=dict)


def structures_with_data(structs: Sequence[ir.Struct]) -> frozenset[ir.TypeRef]:
    """Those that hold data, whatever depth it is at."""
    found: frozenset[ir.TypeRef] = frozenset()
    while True:
        more = frozenset(
            each.ref for each in structs if any(holds_data(f.type, found) for f in each.fields)
        )
        if more == found:
            return found
        found = more


def holds_data(type_: ir.Type, structs: frozenset[ir.TypeRef]) -> bool:
    """``structs``: those that do."""
    match type_:
        case ir.ClassType(name=name):
            return name == _DATA
        case ir.StructType(ref=ref):
            return ref in structs
        case _:
            return False


def decisions(
    roots: Sequence[ir.Node],
    structs: frozenset[ir.TypeRef],
    parameters: Sequence[ir.MachineParameter] = (),
) -> Decisions:
    """What the nodes decide by. ``structs``: those that hold data."""
    scalars = frozenset(each.name for each in parameters if type(each.type) is ir.ScalarType)
    reader = _Reader(structs, scalars)
    for each in parameters:
        if each.type == ir.ADDR:
            reader.found.addresses[f"the parameter {each.name}"] = None
    for root in roots:
        reader.read(root)
    return reader.found


@dataclass(slots=True)
class _Reader:
    structs: frozenset[ir.TypeRef]
    scalars: frozenset[str]
    found: Decisions = field(default_factory=Decisions)

    def read(self, root: object) -> None:
        """A node, or a tuple of nodes; what is only printed decides nothing."""
        match root:
            case tuple():
                for each in root:
                    self.read(each)
                return
            case ir.Trace() | ir.TransitionComment():
                return
            case ir.Assert(condition=condition):
                self._asserted(condition)
                return
            case ir.Binary():
                self._compared(root)
            case ir.CallBuiltin():
                self._called(root)
            case ir.Unary(operand=operand) if operand.type == ir.ADDR:
                self.found.addresses[f"{root.operator.value} of an address"] = None
            case ir.Cast(operand=operand, type=type_) if ir.ADDR in (operand.type, type_):
                if operand.type != type_ and not _is_zero(operand):
                    self.found.addresses["an address as a number"] = None
            case ir.IntConst(type=type_) if type_ == ir.ADDR and not _is_zero(root):
                self.found.addresses["a constant address"] = None
            case _:
                pass
        if isinstance(root, ir.Node):
            for name in body_analysis.parts(type(root)):
                self.read(getattr(root, name))

    def _asserted(self, condition: ir.Expr) -> None:
        """What has to hold, or the run ends. The right side of ``||`` is looked at only where the
        left one does not hold, so it must do nothing else."""
        match condition:
            case ir.Binary(operator=ir.BinaryOperator.AND, left=left, right=right):
                self._asserted(left)
                self._asserted(right)
            case ir.Binary(operator=ir.BinaryOperator.OR, left=left, right=right) if (
                not body_analysis.has_effect(right)
            ):
                self._asserted(left)
                self._asserted(right)
            case ir.Binary(operator=ir.BinaryOperator.EQUAL, left=left, right=right) if holds_data(
                left.type, self.structs
            ):
                self.found.asserted = True
                self.read(left)
                self.read(right)
            case _:
                self.read(condition)

    def _compared(self, node: ir.Binary) -> None:
        operator = node.operator
        if holds_data(node.left.type, self.structs):
            self.found.compared[f"{operator.value} of data"] = None
        if ir.ADDR not in (node.left.type, node.right.type):
            return
        if operator not in _EQUALITY:
            self.found.addresses[f"{operator.value} of addresses"] = None
        elif node.left.type != node.right.type and not any(map(_is_zero, (node.left, node.right))):
            self.found.addresses["an address as a number"] = None

    def _called(self, node: ir.CallBuiltin) -> None:
        name, arguments = node.name, node.arguments
        if name in _BY_ADDRESS or (name == _WAKE_ALL and not arguments):
            self.found.addresses[name] = None
        elif name == _RANGE:
            match arguments[3]:
                case ir.MachineObject(name=bits) if bits in self.scalars:
                    self.found.ranges[bits] = None
                case bits if not _is_zero(bits):
                    self.found.addresses[name] = None


def _is_zero(node: ir.Expr) -> bool:
    return isinstance(node, ir.IntConst) and node.value == 0
