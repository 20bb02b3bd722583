"""What a protocol makes of addresses, as far as it may decide by that.

Lines take each other's places in an exploration if addresses are only handed on and compared with
each other: a number or an order of addresses tells lines apart. Invariant: a use that is not
understood is noted.
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


@dataclass(slots=True)
class Decisions:
    """Of one machine, or of structures. ``ranges``: parameters that say how many bits of an address
    choose a machine."""

    addresses: dict[str, None] = field(default_factory=dict)
    ranges: dict[str, None] = field(default_factory=dict)


def decisions(
    roots: Sequence[ir.Node], parameters: Sequence[ir.MachineParameter] = ()
) -> Decisions:
    """What the nodes decide by."""
    scalars = frozenset(each.name for each in parameters if type(each.type) is ir.ScalarType)
    reader = _Reader(scalars)
    for each in parameters:
        if each.type == ir.ADDR:
            reader.found.addresses[f"the parameter {each.name}"] = None
    for root in roots:
        reader.read(root)
    return reader.found


@dataclass(slots=True)
class _Reader:
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

    def _compared(self, node: ir.Binary) -> None:
        operator = node.operator
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
