"""Operators of the IR in C++: arithmetic, comparisons, decisions, conversions of numbers.

Invariant: the value is the one that the IR type can hold, independent of the types that C++
calculates with; sums and products are computed as unsigned numbers and made signed once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import assert_never

from slicc import ir
from slicc.codegen.conditions import COMPARISON
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.emit import cpp_tree
from slicc.codegen.cpp.emit.cpp_tree import Code
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.types import integer_type, wrapping_type
from slicc.codegen.integer_rules import (
    ARITHMETIC,
    CannotEmit,
    common,
    constant,
    holds,
    integer_kind,
    is_reference,
    wrapped,
)
from slicc.ir import BinaryOperator as Op


class Operators(ABC):
    """The operators among the expressions of one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @abstractmethod
    def __call__(self, node: ir.Expr) -> Code:
        """Any expression: operands may be anything."""

    def _unary(self, node: ir.Unary) -> Code:
        match node.operator:
            case ir.UnaryOperator.NOT:
                code = self(node.operand)
                return Code(f"!{code.inside(cpp_tree.UNARY)}", cpp_tree.UNARY, code.acts)
            case ir.UnaryOperator.NEGATE:
                kind = integer_kind(node.type)
                if isinstance(node.operand, ir.IntConst):
                    return integer(wrapped(-node.operand.value, kind), kind)
                operand = self._modular(node.operand, kind)
                text = operand.inside(cpp_tree.UNARY)
                text = f"-({text})" if text.startswith("-") else f"-{text}"
                return self._signed(Code(text, cpp_tree.UNARY, operand.acts), kind)
            case ir.UnaryOperator.INCREMENT:
                raise CannotEmit(f"{node.span}: `++` inside of an expression")
            case _:
                assert_never(node.operator)

    def _binary(self, node: ir.Binary) -> Code:
        operator = node.operator
        if operator in COMPARISON:
            return self._comparison(node)
        if operator in ARITHMETIC:
            kind = integer_kind(node.type)
            value = constant(node)
            if value is not None:
                return integer(wrapped(value, kind), kind)
            return self._signed(self._modular(node, kind), kind)
        match operator:
            case Op.AND | Op.OR:
                return self._decision(node)
            case Op.DIVIDE | Op.REMAINDER:
                return self._division(node)
            case _:
                return self._shift(node)

    def _choice(self, node: ir.Conditional) -> Code:
        made = cpp_tree.choice(self(node.condition), self(node.then), self(node.orelse))
        if isinstance(node.type, ir.ScalarType) and node.type.kind.bits:
            # Two literals would make an `int`, not the author's type.
            return Code(f"{integer_type(node.type.kind)}({made.text})", acts=made.acts)
        return made

    def _decision(self, node: ir.Binary) -> Code:
        """``&&`` and ``||``: null checks of the left side hold on the right one."""
        both = node.operator is Op.AND
        left = self(node.left)
        before = set(self.scope.known)
        self.scope.known |= self.learned(node.left, both)
        right = self(node.right)
        self.scope.known = before
        return cpp_tree.binary(
            left, "&&" if both else "||", right, cpp_tree.AND if both else cpp_tree.OR
        )

    def learned(self, node: ir.Expr, truth: bool) -> set[str]:
        """Pointers that are not null if the condition has this value."""
        match node:
            case ir.NullTest(operand=ir.Local() | ir.TransactionValue() as operand):
                if node.valid is truth and isinstance(operand.type, ir.PointerType):
                    return {self(operand).text}
            case ir.Unary(operator=ir.UnaryOperator.NOT):
                return self.learned(node.operand, not truth)
            case ir.Binary(operator=Op.AND | Op.OR) if truth is (node.operator is Op.AND):
                return self.learned(node.left, truth) | self.learned(node.right, truth)
            case _:
                pass
        return set()

    def _modular(self, node: ir.Expr, kind: ir.ScalarKind) -> Code:
        """A value equal to the expression's modulo 2**bits of ``kind``, as an unsigned number.

        Sums and products are then made signed once, at the end.
        """
        if isinstance(node, ir.Binary) and node.operator in ARITHMETIC:
            inner = integer_kind(node.type)
            if inner.bits == kind.bits and constant(node) is None:
                level = cpp_tree.PRODUCT if node.operator is Op.MULTIPLY else cpp_tree.SUM
                left, right = self._modular(node.left, inner), self._modular(node.right, inner)
                return cpp_tree.binary(left, ARITHMETIC[node.operator], right, level)
        value = constant(node)
        if value is not None:
            value = wrapped(value, integer_kind(node.type))
            return integer(value & ((1 << kind.bits) - 1), ir.ScalarKind.UINT64)
        name = wrapping_type(kind)
        code = self(node)
        same = isinstance(node.type, ir.ScalarType) and node.type.kind.bits
        if same and integer_type(integer_kind(node.type)) == name:
            return code
        return Code(f"{name}({code.text})", acts=code.acts)

    def _signed(self, code: Code, kind: ir.ScalarKind) -> Code:
        """A number of an unsigned type, converted to the author's type."""
        if not kind.signed:
            return code
        return Code(f"{integer_type(kind)}({code.text})", acts=code.acts)

    def converted(self, node: ir.Expr, type_: ir.Type, *, bare: bool = False) -> Code:
        """The expression as a value of another type.

        ``bare``: what C++ converts by itself, without changing the value, is left to it.
        """
        code = self(node)
        if not (isinstance(type_, ir.ScalarType) and isinstance(node.type, ir.ScalarType)):
            return code
        source, target = node.type.kind, type_.kind
        if target is ir.ScalarKind.BOOL and source is not ir.ScalarKind.BOOL:
            return cpp_tree.binary(code, "!=", integer(0), cpp_tree.EQUALITY)
        if target.bits == 0:
            return code
        name = integer_type(target)
        value = constant(node) if source.bits else None
        if value is not None:
            literal = integer(wrapped(wrapped(value, source), target), target)
            typed = bare or target is ir.ScalarKind.INT
            return literal if typed else Code(f"{name}({literal.text})")
        if integer_type(source) == name:
            return code
        if bare and source.bits and holds(target, source) and source.signed == target.signed:
            return code
        return Code(f"{name}({code.text})", acts=code.acts)

    def _division(self, node: ir.Binary) -> Code:
        kind = integer_kind(node.type)
        left = self.converted(node.left, node.type)
        right = self.converted(node.right, node.type)
        divides = node.operator is Op.DIVIDE
        if isinstance(node.right, ir.IntConst) and node.right.value not in (0, -1):
            return cpp_tree.binary(left, "/" if divides else "%", right, cpp_tree.PRODUCT)
        name = f"{'divide' if divides else 'remainder'}_{integer_type(kind)}"
        return cpp_tree.call(name, [left, right], Acts.FAILS | Acts.PLACED)

    def _shift(self, node: ir.Binary) -> Code:
        kind = integer_kind(node.type)
        left, right = self(node.left), self(node.right)
        to_the_left = node.operator is Op.SHIFT_LEFT
        if not (isinstance(node.right, ir.IntConst) and 0 <= node.right.value < kind.bits):
            name = f"{'shift_left' if to_the_left else 'shift_right'}_{integer_type(kind)}"
            return cpp_tree.call(name, [left, right], Acts.FAILS | Acts.PLACED)
        if not to_the_left:
            return cpp_tree.binary(left, ">>", right, cpp_tree.SHIFT)
        if kind.signed or constant(node.left) is not None:
            left = Code(f"{wrapping_type(kind)}({left.text})", acts=left.acts)
        return self._signed(cpp_tree.binary(left, "<<", right, cpp_tree.SHIFT), kind)

    def _comparison(self, node: ir.Binary) -> Code:
        left, right = node.left, node.right
        sign, level = COMPARISON[node.operator], cpp_tree.ORDER
        if node.operator in {Op.EQUAL, Op.NOT_EQUAL}:
            level = cpp_tree.EQUALITY
            if not is_reference(left.type) and isinstance(left.type, ir.ClassType | ir.StructType):
                return self._equality(node)
        shared = common(left.type, right.type)
        if shared is None:
            return cpp_tree.binary(self(left), sign, self(right), level)
        return cpp_tree.binary(
            self.converted(left, shared, bare=True),
            sign,
            self.converted(right, shared, bare=True),
            level,
        )

    def _equality(self, node: ir.Binary) -> Code:
        """Equality of values with parts."""
        type_ = node.left.type
        name = "equal"
        if isinstance(type_, ir.ClassType):
            self.scope.types(type_, node.span)
            name = f"{type_.name}_equal"
        elif isinstance(type_, ir.StructType) and self.is_message(type_.ref):
            raise Unsupported("comparison of messages", node.span)
        code = cpp_tree.call(name, [self(node.left), self(node.right)])
        if node.operator is Op.EQUAL:
            return code
        return Code(f"!{code.text}", cpp_tree.UNARY, code.acts)

    def is_message(self, ref: ir.TypeRef) -> bool:
        return ref in self.scope.names.messages


def integer(value: int, kind: ir.ScalarKind = ir.ScalarKind.INT) -> Code:
    """A literal with the value, of a type that holds it."""
    if value < 0:
        text = "(-2147483647 - 1)" if value == -(1 << 31) else str(value)
        if value < -(1 << 31):
            text = f"i64(0x{value & ((1 << 64) - 1):x}u)"
        return Code(text, cpp_tree.UNARY if text[0] == "-" else cpp_tree.PRIMARY)
    if value > 0x7FFFFFFF and (not kind.signed or value > 0xFFFFFFFF):
        return Code(f"{value:#x}u")
    return Code(str(value))
