"""Expressions of the IR as expressions of C++.

Invariant: every integer expression has the value that its IR type can hold; operands are
evaluated in the author's order where the order can be observed; an operation that fails reports it
and yields a harmless value.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir
from slicc.codegen.conditions import settled
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.emit import cpp_tree
from slicc.codegen.cpp.emit.cpp_tree import Code, atom
from slicc.codegen.cpp.emit.operators import Operators, integer
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.runtime_names import (
    ALIASES,
    CONTROLLER_FUNCTIONS,
    ENTRY_METHODS,
    LIBRARY_FUNCTIONS,
    MESSAGE_METHODS,
    OBJECT_CLASSES,
    PORT_CLASSES,
    TYPED_METHODS,
    VALUE_CLASSES,
)
from slicc.codegen.cpp.types import is_object
from slicc.codegen.integer_rules import CannotEmit
from slicc.source import Span


class Expressions(Operators):
    """Translates expressions in one scope. ``place``: the statement that they belong to."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.place: Span | None = None

    def site(self) -> str:
        assert self.place is not None, "an expression outside of statements"
        return str(self.scope.sites.place(self.place, self.scope.action))

    def __call__(self, node: ir.Expr) -> Code:
        node = settled(node)
        match node:
            case ir.Local():
                return atom(self.scope.local(node.name))
            case ir.FieldAccess():
                return self._field(node)
            case ir.EnumConst():
                return self.member(node.type.ref, node.member)
            case ir.MachineObject():
                return self.object(node.name, node.type, node.span)
            case ir.TransactionValue():
                return atom(f"t.{node.field.value}")
            case ir.CallMethod():
                return self._present_method(node)
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
                null = "NIL" if is_object(node.operand.type) else "nullptr"
                sign = "!=" if node.valid else "=="
                return cpp_tree.binary(self(node.operand), sign, Code(null), cpp_tree.EQUALITY)
            case ir.IntConst():
                return integer(node.value)
            case ir.BoolConst():
                return cpp_tree.TRUE if node.value else cpp_tree.FALSE
            case ir.StringConst() | ir.EnumToString():
                raise Unsupported("strings", node.span)
            case ir.Null():
                return cpp_tree.NO_OBJECT if is_object(node.type) else cpp_tree.NULL
            case ir.ControllerValue():
                return atom(f"c.{node.field.value}")
            case ir.SelfField():
                assert self.scope.owner is not None, "a field outside of methods"
                return atom(f"self.{self.scope.names.field(self.scope.owner, node.name)}")
            case ir.Conditional():
                return self._choice(node)
            case ir.StateToPermission():
                return self._permission(node)
            case ir.NewEntry():
                name = self.scope.types(node.type, node.span).removesuffix("*")
                # The new entry cannot be observed until it is stored.
                return Code(f"new_entry<{name}>(x, c)")
            case ir.NewStruct():
                return self.default(node.type, node.span)
            case ir.Cast():
                return self._cast(node)
            case _:
                assert_never(node)

    # -------------------------------------------------------------- parts

    def arguments(self, nodes: tuple[ir.Expr, ...]) -> list[Code]:
        return [self(node) for node in nodes]

    def member(self, ref: ir.TypeRef, member: str) -> Code:
        owner = self.scope.names.type(ref)
        name = "NUM" if member == "NUM" else self.scope.names.member(ref, member)
        return Code(f"{owner}::{name}")

    def object(self, name: str, type_: ir.Type, span: Span) -> Code:
        """A parameter or object of the machine."""
        self.scope.types(type_, span)
        return atom(f"c.{self.scope.machine.names.objects.get(name, name)}")

    def buffer(self, port: ir.PortRef) -> Code:
        """The buffer behind a port."""
        name = self.scope.machine.buffers[port]
        return atom(f"c.{self.scope.machine.names.objects.get(name, name)}")

    def pointed(self, pointer: Code) -> Code:
        """What a pointer points to; null is a verdict."""
        if pointer.text in self.scope.known:
            return Code(f"*{pointer.text}", cpp_tree.UNARY, pointer.acts)
        return Code(
            f"valid(x, {pointer.text}, {self.site()})", acts=pointer.acts | Acts.NULLS | Acts.READS
        )

    def _field(self, node: ir.FieldAccess) -> Code:
        receiver = self(node.receiver)
        match node.receiver.type:
            case ir.StructType(ref=ref):
                self._check_field(node)
                return cpp_tree.field(receiver, self.scope.names.field(ref, node.name))
            case ir.PointerType(ref=ref):
                name = self.scope.names.field(ref, node.name)
                if receiver.text in self.scope.known:
                    return Code(f"{receiver.inside(cpp_tree.PRIMARY)}->{name}", acts=receiver.acts)
                return cpp_tree.field(self.pointed(receiver), name)
            case _:
                raise Unsupported(f"field `{node.name}` of this", node.span)

    def _check_field(self, node: ir.FieldAccess) -> None:
        self.scope.types(node.type, node.span)

    def default(self, type_: ir.Type, span: Span) -> Code:
        """A value as default-constructed."""
        name = self.scope.types(type_, span)
        match type_:
            case ir.StructType():
                return Code(f"default_of<{name}>(x)")
            case ir.ClassType(name="MachineID"):
                return Code("INVALID_MACHINE")
            case ir.ClassType(value=True):
                return Code(f"{name}{{}}")
            case ir.ClassType():
                return cpp_tree.NO_OBJECT
            case ir.PointerType():
                return cpp_tree.NULL
            case ir.EnumType():
                return self.member(type_.ref, "NUM")
            case ir.ScalarType(kind=ir.ScalarKind.BOOL):
                return cpp_tree.FALSE
            case ir.ScalarType():
                return integer(0)
            case ir.VoidType() | ir.UnknownType():
                raise CannotEmit(f"no default value of type {type_}")
            case _:
                assert_never(type_)

    # -------------------------------------------------------------- calls

    def method(self, node: ir.CallMethod) -> Code:
        """A call of a method of a runtime class, without a check that the object exists."""
        classes = {**VALUE_CLASSES, **OBJECT_CLASSES, **MESSAGE_METHODS}
        known = classes.get(node.class_name)
        if node.class_name == "AbstractCacheEntry":
            known = ENTRY_METHODS
        if known is None:
            raise Unsupported(f"class `{node.class_name}`", node.span)
        acts = known.get(node.method)
        if acts is None:
            raise Unsupported(f"`{node.class_name}.{node.method}`", node.span)
        if node.needs_controller and self.scope.facts is None:
            raise Unsupported(f"`{node.method}` in a method of a structure", node.span)
        receiver = self(node.receiver)
        if isinstance(node.receiver.type, ir.PointerType):
            receiver = self.pointed(receiver)
        kind = self._class_of(node)
        name = f"{kind}_{node.method}"
        if node.method == "chooseNewDistributor":
            return self._distributor(receiver, node)
        if kind == "TBETable" and node.method == "allocate":
            name = f"new_record<{self._element(node)}>"
        elif (node.class_name, node.method) in TYPED_METHODS:
            name += f"<{self._element(node)}>"
        made = cpp_tree.call(name, [receiver, *self.arguments(node.arguments)], acts)
        if kind == "TBETable" and node.method in ("lookup", "getNullEntry"):
            return Code(f"static_cast<{self._element(node)}*>({made.text})", acts=made.acts)
        return made

    def _element(self, node: ir.CallMethod) -> str:
        """What the records of a table are."""
        type_ = node.receiver.type
        assert isinstance(type_, ir.ClassType), "a table is an object of a class"
        tbe = self.scope.machine.machine.tbe
        if type_.name == "MN_TBETable" and tbe is not None:
            return self.scope.names.type(tbe)
        if not isinstance(type_.element, ir.PointerType):
            raise Unsupported("tables of anything but records", node.span)
        return self.scope.names.type(type_.element.ref)

    def _present_method(self, node: ir.CallMethod) -> Code:
        """A call of a method inside of an expression; a default value where there is no object."""
        present = self.present(node)
        if present is None:
            return self.method(node)
        return cpp_tree.choice(present, self.method(node), self.default(node.type, node.span))

    def present(self, node: ir.CallMethod) -> Code | None:
        """A check that an object exists that a system may leave out."""
        match node.receiver:
            case ir.MachineObject(name=name) if name in self.scope.machine.optional:
                receiver = self(node.receiver)
                return Code(f"present(x, {receiver.text}, {self.site()})", acts=Acts.NULLS)
            case _:
                return None

    def _class_of(self, node: ir.CallMethod) -> str:
        match node.receiver:
            case ir.MachineObject(name=name) if name in self.scope.machine.senders:
                return "NetworkPort"
            case _:
                return ALIASES.get(node.class_name, node.class_name)

    def _distributor(self, receiver: Code, node: ir.CallMethod) -> Code:
        """The choice among operations on translations, with the states that it depends on."""
        states = self.scope.machine.machine.states
        known = {each.name for each in states.members}

        def number(kind: str, stage: str) -> str:
            name = f"{kind}_{stage}"
            return self.member(states.ref, name).text if name in known else "-1"

        stages = [
            f"{{{number('DvmNonSync', stage)}, {number('DvmSync', stage)}}}"
            for stage in ("ReadyToDist", "Distributing", "Waiting")
        ]
        given = Code(f"DistributorStates{{{', '.join(stages)}}}")
        name = f"MN_TBETable_chooseNewDistributor<{self._element(node)}>"
        return cpp_tree.call(name, [receiver, given], Acts.READS | Acts.FAILS | Acts.PLACED)

    def _function(self, node: ir.CallFunction) -> Code:
        machine = self.scope.machine
        name = machine.names.functions[node.function.name]
        acts = machine.acts.get(node.function, ~Acts.NOTHING)
        return cpp_tree.call(name, self.arguments(node.arguments), acts & ~Acts.PLACED, "x, c")

    def _struct_method(self, node: ir.CallStructMethod) -> Code:
        machine = self.scope.machine
        receiver = self(node.receiver)
        if isinstance(node.receiver.type, ir.PointerType):
            receiver = self.pointed(receiver)
        acts = machine.acts.get(node.function, ~Acts.NOTHING) & ~Acts.PLACED
        arguments = [receiver, *self.arguments(node.arguments)]
        return cpp_tree.call(machine.names.methods[node.function], arguments, acts)

    def _builtin(self, node: ir.CallBuiltin) -> Code:
        arguments = self.arguments(node.arguments)
        match node.home:
            case ir.BuiltinHome.CONTROLLER:
                acts = CONTROLLER_FUNCTIONS.get(node.name)
                if acts is None or self.scope.facts is None:
                    raise Unsupported(f"function `{node.name}`", node.span)
                return cpp_tree.call(f"controller_{node.name}", arguments, acts, "x, c")
            case ir.BuiltinHome.LIBRARY:
                acts = LIBRARY_FUNCTIONS.get(node.name)
                if acts is None:
                    raise Unsupported(f"function `{node.name}`", node.span)
                return cpp_tree.call(f"library_{node.name}", arguments, acts)
            case _:
                assert_never(node.home)

    def _port_call(self, node: ir.PortCall) -> Code:
        name = node.operation.value
        machine = self.scope.machine
        kind = machine.classes[machine.buffers[node.port]]
        acts = PORT_CLASSES[kind].get(name)
        if acts is None:
            raise Unsupported(f"`{name}` of a port on a `{kind}`", node.span)
        arguments = [self.buffer(node.port), *self.arguments(node.arguments)]
        return cpp_tree.call(f"{kind}_{name}", arguments, acts)

    def _permission(self, node: ir.StateToPermission) -> Code:
        machine = self.scope.machine.machine
        if node.machine != machine.name:
            raise CannotEmit(f"permissions of another machine ({node.machine})")
        if isinstance(node.operand, ir.EnumConst) and node.operand.member != "NUM":
            states = {each.name: each.permission for each in machine.states.members}
            permission = states[node.operand.member] or ir.AccessPermission.NOT_PRESENT
            return Code(f"AccessPermission::{permission.value}")
        operand = self(node.operand)
        text = f"permission_of(x, PERMISSIONS, {operand.text}, {self.site()})"
        return Code(text, acts=operand.acts | Acts.FAILS)

    def _cast(self, node: ir.Cast) -> Code:
        if isinstance(node.type, ir.PointerType):
            operand = self(node.operand)
            name = self.scope.types(node.type, node.span)
            return Code(f"static_cast<{name}>({operand.text})", acts=operand.acts)
        return self.converted(node.operand, node.type)
