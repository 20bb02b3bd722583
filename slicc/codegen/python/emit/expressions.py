"""Expressions of the IR as Python expressions.

Invariants: every integer expression has the value that its IR type can hold (arithmetic wraps,
division truncates); operands are evaluated in the author's order, the right side of ``&&`` and
``||`` only when the left does not decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import assert_never

from slicc import ir
from slicc.codegen.conditions import COMPARISON, settled
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
from slicc.codegen.python.emit import python_tree
from slicc.codegen.python.emit.python_tree import Code
from slicc.codegen.python.imports import Imports
from slicc.codegen.python.names import MachineNames, ProtocolNames, method_name
from slicc.codegen.python.runtime_names import (
    ENTRY_CLASSES,
    GENERIC_CLASSES,
    RUNTIME_CLASSES,
    RUNTIME_MODULES,
)
from slicc.ir import BinaryOperator as Op
from slicc.text import python_source
from slicc.text.lazy_dataclass import dataclass

_ANY_ENTRY = ir.TypeRef(None, "AbstractCacheEntry")
_SIGNED = ir.ScalarType(ir.ScalarKind.STATISTIC)
"""64 bits with a sign."""


@dataclass(slots=True)
class Scope:
    """The meaning of names in one body: of ``machine``, or of a method of structure ``owner``."""

    names: ProtocolNames
    imports: Imports
    machine: MachineNames | None
    machine_name: str | None
    locals: Mapping[str, str] = field(default_factory=dict)
    owner: ir.TypeRef | None = None

    def local(self, name: str) -> Code:
        return Code(self.locals.get(name, name))

    def type_name(self, ref: ir.TypeRef) -> str:
        """The name of a type, imported if this module does not define it."""
        name = self.names.type(ref)
        if ref not in self.names.defined:
            return self.imports.runtime(name)
        if ref.machine is None and self.machine_name is not None:
            return self.imports.add(".types", name)
        return name

    def annotation(self, type_: ir.Type, entry: ir.TypeRef | None = None) -> str:
        """The type as Python writes it; ``entry``: what a cache or directory holds."""
        match type_:
            case ir.ScalarType(kind=ir.ScalarKind.BOOL):
                return "bool"
            case ir.ScalarType(kind=ir.ScalarKind.STRING):
                return "str"
            case ir.ScalarType() | ir.EnumType():
                return "int"
            case ir.StructType() | ir.PointerType():
                return self.type_name(type_.ref)
            case ir.ClassType():
                class_name = RUNTIME_CLASSES.get(type_.name, type_.name)
                if class_name not in RUNTIME_MODULES:
                    return self.imports.add("typing", "Any")
                name = self.imports.runtime(class_name)
                if type_.name not in GENERIC_CLASSES:
                    return name
                if type_.name in ENTRY_CLASSES:
                    held = self.type_name(entry or _ANY_ENTRY)
                elif type_.element is None:
                    held = self.imports.add("typing", "Any")
                else:
                    held = self.annotation(type_.element)
                return f"{name}[{held}]"
            case ir.VoidType():
                return "None"
            case ir.UnknownType():
                raise CannotEmit("a type that was never resolved")
            case _:
                assert_never(type_)


class Expressions:
    """Translates expressions in one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def __call__(self, node: ir.Expr) -> Code:
        scope = self.scope
        node = settled(node)
        match node:
            case ir.Local():
                return scope.local(node.name)
            case ir.FieldAccess():
                return self._field(node)
            case ir.EnumConst():
                return self.member(node.type.ref, node.member)
            case ir.MachineObject():
                assert scope.machine is not None, "a machine object outside of machines"
                return python_tree.attribute(python_tree.SELF, scope.machine.object(node.name))
            case ir.TransactionValue():
                return Code(f"t.{node.field.value}")
            case ir.CallMethod():
                return self._method(node)
            case ir.CallFunction():
                return self._function(node)
            case ir.CallStructMethod():
                return self._struct_method(node)
            case ir.CallBuiltin():
                return self._builtin(node)
            case ir.PortCall():
                return self._port_call(node)
            case ir.Binary():
                return self._binary(node)
            case ir.Unary():
                return self._unary(node)
            case ir.NullTest():
                return self._null_test(node, node.valid)
            case ir.IntConst():
                return integer(node.value)
            case ir.BoolConst():
                return python_tree.TRUE if node.value else python_tree.FALSE
            case ir.StringConst():
                return Code(python_source.string_literal(node.value))
            case ir.Null():
                return python_tree.NONE
            case ir.ControllerValue():
                return python_tree.attribute(python_tree.SELF, node.field.value)
            case ir.SelfField():
                return python_tree.attribute(python_tree.SELF, self._own_field(node.name))
            case ir.Conditional():
                return python_tree.choice(self(node.condition), self(node.then), self(node.orelse))
            case ir.EnumToString():
                return self.name_of(node.operand)
            case ir.StateToPermission():
                return python_tree.subscript(self._permissions(node.machine), self(node.operand))
            case ir.NewEntry():
                return python_tree.call(Code(scope.type_name(node.type.ref)))
            case ir.NewStruct():
                return self.default(node.type)
            case ir.Cast():
                return self.converted(node.operand, node.type)
            case _:
                assert_never(node)

    # -------------------------------------------------------------- parts

    def arguments(self, nodes: tuple[ir.Expr, ...]) -> list[Code]:
        return [self(node) for node in nodes]

    def port(self, ref: ir.PortRef) -> Code:
        assert self.scope.machine is not None, "a port outside of machines"
        return python_tree.attribute(python_tree.SELF, self.scope.machine.ports[ref.name])

    def member(self, ref: ir.TypeRef, member: str) -> Code:
        owner = Code(self.scope.type_name(ref))
        return python_tree.attribute(
            owner, "NUM" if member == "NUM" else self.scope.names.member(ref, member)
        )

    def field(self, receiver: ir.Expr, name: str) -> str:
        match receiver.type:
            case ir.StructType(ref=ref) | ir.PointerType(ref=ref):
                return self.scope.names.field(ref, name)
            case _:
                return name

    def name_of(self, operand: ir.Expr) -> Code:
        """The member's name of an enumeration value."""
        if not isinstance(operand.type, ir.EnumType):
            raise CannotEmit(f"{operand.span}: not an enumeration value")
        if isinstance(operand, ir.EnumConst) and operand.member != "NUM":
            return Code(python_source.string_literal(operand.member))
        owner = Code(self.scope.type_name(operand.type.ref))
        return python_tree.method(owner, "name_of", self(operand))

    def default(self, type_: ir.Type) -> Code:
        """A value as default-constructed."""
        match type_:
            case ir.StructType():
                return python_tree.call(Code(self.scope.type_name(type_.ref)))
            case ir.ClassType(name="MachineID"):
                return Code(self.scope.imports.runtime("INVALID_MACHINE"))
            case ir.ClassType(value=True):
                return python_tree.call(Code(self.scope.imports.runtime(type_.name)))
            case ir.ClassType() | ir.PointerType():
                return python_tree.NONE
            case ir.EnumType():
                return self.member(type_.ref, "NUM")
            case ir.ScalarType(kind=ir.ScalarKind.BOOL):
                return python_tree.FALSE
            case ir.ScalarType(kind=ir.ScalarKind.STRING):
                return Code('""')
            case ir.ScalarType():
                return integer(0)
            case ir.VoidType() | ir.UnknownType():
                raise CannotEmit(f"no default value of type {type_}")
            case _:
                assert_never(type_)

    def _field(self, node: ir.FieldAccess) -> Code:
        return python_tree.attribute(self(node.receiver), self.field(node.receiver, node.name))

    def _own_field(self, name: str) -> str:
        owner = self.scope.owner
        return name if owner is None else self.scope.names.field(owner, name)

    def _permissions(self, machine: str) -> Code:
        if machine != self.scope.machine_name:
            raise CannotEmit(f"permissions of another machine ({machine})")
        return python_tree.attribute(python_tree.SELF, "PERMISSIONS")

    # -------------------------------------------------------------- calls

    def _method(self, node: ir.CallMethod) -> Code:
        arguments = self.arguments(node.arguments)
        if node.needs_controller:
            # A message travels without a controller: there the runtime reports the null.
            owned = self.scope.machine is None
            arguments.insert(0, python_tree.NONE if owned else python_tree.SELF)
        return python_tree.method(self(node.receiver), node.method, *arguments)

    def _function(self, node: ir.CallFunction) -> Code:
        assert self.scope.machine is not None, "a function of a machine outside of machines"
        name = self.scope.machine.functions[node.function.name]
        return python_tree.method(python_tree.SELF, name, *self.arguments(node.arguments))

    def _struct_method(self, node: ir.CallStructMethod) -> Code:
        name = method_name(node.function.name)
        return python_tree.method(self(node.receiver), name, *self.arguments(node.arguments))

    def _builtin(self, node: ir.CallBuiltin) -> Code:
        arguments = self.arguments(node.arguments)
        match node.home:
            case ir.BuiltinHome.CONTROLLER:
                return python_tree.method(python_tree.SELF, node.name, *arguments)
            case ir.BuiltinHome.LIBRARY:
                function = Code(self.scope.imports.runtime(node.name))
                return python_tree.call(function, *arguments)
            case _:
                assert_never(node.home)

    # -------------------------------------------------------------- operators

    def _unary(self, node: ir.Unary) -> Code:
        match node.operator:
            case ir.UnaryOperator.NOT:
                if isinstance(node.operand, ir.NullTest):
                    return self._null_test(node.operand, not node.operand.valid)
                return python_tree.negation(self(node.operand))
            case ir.UnaryOperator.NEGATE:
                kind = integer_kind(node.type)
                if isinstance(node.operand, ir.IntConst):
                    return integer(wrapped(-node.operand.value, kind))
                return self._wrap(python_tree.minus(self(node.operand)), kind)
            case ir.UnaryOperator.INCREMENT:
                raise CannotEmit(f"{node.span}: `++` inside of an expression")
            case _:
                assert_never(node.operator)

    def _null_test(self, node: ir.NullTest, valid: bool) -> Code:
        return python_tree.operation(
            self(node.operand), "is not" if valid else "is", python_tree.NONE
        )

    def _binary(self, node: ir.Binary) -> Code:
        operator = node.operator
        if operator in COMPARISON:
            return self._comparison(node)
        if operator in ARITHMETIC:
            kind = integer_kind(node.type)
            code = self._unwrapped(node, kind)
            value = constant(node)
            known = value is not None and wrapped(value, kind) == value
            return code if known else self._wrap(code, kind)
        match operator:
            case Op.AND:
                return python_tree.operation(self(node.left), "and", self(node.right))
            case Op.OR:
                return python_tree.operation(self(node.left), "or", self(node.right))
            case Op.DIVIDE | Op.REMAINDER:
                return self._division(node)
            case _:
                return self._shift(node)

    def _unwrapped(self, node: ir.Expr, kind: ir.ScalarKind) -> Code:
        """A value equal to the expression's modulo 2**bits of ``kind``.

        Sums and products may then be wrapped once, at the end.
        """
        if isinstance(node, ir.Binary) and node.operator in ARITHMETIC:
            inner = integer_kind(node.type)
            if inner.bits >= kind.bits:
                left = self._unwrapped(node.left, inner)
                return python_tree.operation(
                    left, ARITHMETIC[node.operator], self._unwrapped(node.right, inner)
                )
        return self(node)

    def _wrap(self, code: Code, kind: ir.ScalarKind) -> Code:
        function = f"{'int' if kind.signed else 'uint'}{kind.bits}"
        return python_tree.call(Code(self.scope.imports.runtime(function)), code)

    def converted(self, node: ir.Expr, type_: ir.Type) -> Code:
        """The expression as a value of another type; only narrower integers cost anything."""
        code = self(node)
        if not (isinstance(type_, ir.ScalarType) and isinstance(node.type, ir.ScalarType)):
            return code
        source, target = node.type.kind, type_.kind
        if target is ir.ScalarKind.BOOL and source is not ir.ScalarKind.BOOL:
            return python_tree.operation(code, "!=", integer(0))
        if target.bits == 0 or source.bits == 0 or holds(target, source):
            return code
        if isinstance(node, ir.IntConst):
            return integer(wrapped(node.value, target))
        return self._wrap(code, target)

    def latency(self, node: ir.Expr) -> Code:
        """A time from now, read with its sign: `Cycles` wrap, and a difference may be negative."""
        if self._is_given(node):
            return self(node)
        if isinstance(node, ir.Binary) and integer_kind(node.type).bits == _SIGNED.kind.bits:
            return self._wrap(self._unwrapped(node, _SIGNED.kind), _SIGNED.kind)
        return self.converted(node, _SIGNED)

    def _is_given(self, node: ir.Expr) -> bool:
        """Whether the number of cycles comes from the system description or a literal."""
        match node:
            case ir.IntConst() | ir.ControllerValue():
                return True
            case ir.MachineObject():
                machine = self.scope.machine
                return machine is not None and node.name not in machine.variables
            case ir.Cast():
                return self._is_given(node.operand)
            case ir.CallBuiltin(name="cyclesToTicks" | "ticksToCycles" | "intToCycles"):
                return all(self._is_given(each) for each in node.arguments)
            case _:
                return False

    def _port_call(self, node: ir.PortCall) -> Code:
        recycles = node.operation is ir.PortOperation.RECYCLE
        arguments = [self.latency(each) if recycles else self(each) for each in node.arguments]
        return python_tree.method(self.port(node.port), node.operation.value, *arguments)

    def _division(self, node: ir.Binary) -> Code:
        kind = integer_kind(node.type)
        left = self.converted(node.left, node.type)
        right = self.converted(node.right, node.type)
        name = "divide" if node.operator is Op.DIVIDE else "remainder"
        code = python_tree.call(Code(self.scope.imports.runtime(name)), left, right)
        overflows = (
            kind.signed
            and node.operator is Op.DIVIDE
            and not (isinstance(node.right, ir.IntConst) and node.right.value != -1)
        )
        return self._wrap(code, kind) if overflows else code

    def _shift(self, node: ir.Binary) -> Code:
        kind = integer_kind(node.type)
        left, right = self(node.left), self(node.right)
        to_the_left = node.operator is Op.SHIFT_LEFT
        if isinstance(node.right, ir.IntConst) and 0 <= node.right.value < kind.bits:
            code = python_tree.operation(left, "<<" if to_the_left else ">>", right)
        else:
            name = "shift_left" if to_the_left else "shift_right"
            function = Code(self.scope.imports.runtime(name))
            code = python_tree.call(function, left, right, integer(kind.bits))
        return self._wrap(code, kind) if to_the_left else code

    def _comparison(self, node: ir.Binary) -> Code:
        left, right, sign = node.left, node.right, COMPARISON[node.operator]
        if is_reference(left.type) and is_reference(right.type):
            sign = "is" if node.operator is Op.EQUAL else "is not"
        shared = common(left.type, right.type)
        if shared is None:
            return python_tree.operation(self(left), sign, self(right))
        return python_tree.operation(
            self.converted(left, shared), sign, self.converted(right, shared)
        )


# ------------------------------------------------------------------ integers


def integer(value: int) -> Code:
    return python_tree.minus(Code(str(-value))) if value < 0 else Code(str(value))
