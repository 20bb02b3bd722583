"""Expressions of the IR as expressions of C++.

Invariant: every integer expression has the value that its IR type can hold; operands are
evaluated in the author's order where that can be seen; whatever can fail says so, and goes on
with something harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from slicc import ir
from slicc.codegen.integers import (
    ARITHMETIC,
    CannotEmit,
    common,
    constant,
    holds,
    integer_kind,
    is_reference,
    wrapped,
)
from slicc.codegen.native import cppcode
from slicc.codegen.native.cppcode import Acts, Code, atom
from slicc.codegen.native.errors import Unsupported
from slicc.codegen.native.names import MachineNames, ProtocolNames
from slicc.codegen.native.runtime_names import (
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
from slicc.codegen.native.sites import Sites
from slicc.codegen.native.types import Types, integer_type, is_object, wrapping_type
from slicc.ir import BinaryOperator as Op
from slicc.source import Span

_COMPARISON = {
    Op.EQUAL: ("==", cppcode.EQUALITY),
    Op.NOT_EQUAL: ("!=", cppcode.EQUALITY),
    Op.LESS: ("<", cppcode.ORDER),
    Op.GREATER: (">", cppcode.ORDER),
    Op.LESS_EQUAL: ("<=", cppcode.ORDER),
    Op.GREATER_EQUAL: (">=", cppcode.ORDER),
}


@dataclass(slots=True)
class MachineFacts:
    """What expressions of one machine need to know about it.

    ``buffers``: port -> the buffer behind it; ``classes``: object -> its class (a wire is a
    MessageBuffer); ``senders``: buffers that the network serves;
    ``optional``: objects that a system may leave out; ``acts``: function -> what it may do.
    """

    names: MachineNames
    machine: ir.Machine
    buffers: Mapping[ir.PortRef, str]
    classes: Mapping[str, str]
    senders: frozenset[str]
    optional: frozenset[str]
    acts: dict[ir.FunctionRef, Acts] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """What names mean in one body, and which action's text it is (None: a function's).

    ``known``: pointers, by their text, that are not null where the body now is.
    """

    names: ProtocolNames
    types: Types
    sites: Sites
    facts: MachineFacts | None
    action: str | None = None
    locals: Mapping[str, str] = field(default_factory=dict)
    owner: ir.TypeRef | None = None
    known: set[str] = field(default_factory=set)

    def local(self, name: str) -> str:
        return self.locals.get(name, name)

    @property
    def machine(self) -> MachineFacts:
        if self.facts is None:
            raise CannotEmit("something of a controller where there is none")
        return self.facts


class Expressions:
    """Translates expressions in one scope. ``place``: the statement that they belong to."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.place: Span | None = None

    def site(self) -> str:
        assert self.place is not None, "an expression outside of statements"
        return str(self.scope.sites.place(self.place, self.scope.action))

    def __call__(self, node: ir.Expr) -> Code:
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
                return cppcode.binary(self(node.operand), sign, Code(null), cppcode.EQUALITY)
            case ir.IntConst():
                return integer(node.value)
            case ir.BoolConst():
                return cppcode.TRUE if node.value else cppcode.FALSE
            case ir.StringConst() | ir.EnumToString():
                raise Unsupported("strings", node.span)
            case ir.Null():
                return cppcode.NO_OBJECT if is_object(node.type) else cppcode.NULL
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
                # Nobody can see that there is one entry more until it is stored somewhere.
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
            return Code(f"*{pointer.text}", cppcode.UNARY, pointer.acts)
        return Code(
            f"valid(x, {pointer.text}, {self.site()})", acts=pointer.acts | Acts.NULLS | Acts.READS
        )

    def _field(self, node: ir.FieldAccess) -> Code:
        receiver = self(node.receiver)
        match node.receiver.type:
            case ir.StructType(ref=ref):
                self._check_field(node)
                return cppcode.field(receiver, self.scope.names.field(ref, node.name))
            case ir.PointerType(ref=ref):
                name = self.scope.names.field(ref, node.name)
                if receiver.text in self.scope.known:
                    return Code(f"{receiver.inside(cppcode.PRIMARY)}->{name}", acts=receiver.acts)
                return cppcode.field(self.pointed(receiver), name)
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
                return cppcode.NO_OBJECT
            case ir.PointerType():
                return cppcode.NULL
            case ir.EnumType():
                return self.member(type_.ref, "NUM")
            case ir.ScalarType(kind=ir.ScalarKind.BOOL):
                return cppcode.FALSE
            case ir.ScalarType():
                return integer(0)
            case ir.VoidType() | ir.UnknownType():
                raise CannotEmit(f"no default value of type {type_}")
            case _:
                assert_never(type_)

    # -------------------------------------------------------------- calls

    def method(self, node: ir.CallMethod) -> Code:
        """A call of a method of a runtime class, without the question whether it is there."""
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
        made = cppcode.call(name, [receiver, *self.arguments(node.arguments)], acts)
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
        """The same in the middle of an expression."""
        present = self.present(node)
        if present is None:
            return self.method(node)
        return cppcode.choice(present, self.method(node), self.default(node.type, node.span))

    def present(self, node: ir.CallMethod) -> Code | None:
        """The question whether an object is there that a system may leave out."""
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
        return cppcode.call(name, [receiver, given], Acts.READS | Acts.FAILS | Acts.PLACED)

    def _function(self, node: ir.CallFunction) -> Code:
        machine = self.scope.machine
        name = machine.names.functions[node.function.name]
        acts = machine.acts.get(node.function, ~Acts.NOTHING)
        return cppcode.call(name, self.arguments(node.arguments), acts & ~Acts.PLACED, "x, c")

    def _struct_method(self, node: ir.CallStructMethod) -> Code:
        machine = self.scope.machine
        receiver = self(node.receiver)
        if isinstance(node.receiver.type, ir.PointerType):
            receiver = self.pointed(receiver)
        acts = machine.acts.get(node.function, ~Acts.NOTHING) & ~Acts.PLACED
        arguments = [receiver, *self.arguments(node.arguments)]
        return cppcode.call(machine.names.methods[node.function], arguments, acts)

    def _builtin(self, node: ir.CallBuiltin) -> Code:
        arguments = self.arguments(node.arguments)
        match node.home:
            case ir.BuiltinHome.CONTROLLER:
                acts = CONTROLLER_FUNCTIONS.get(node.name)
                if acts is None or self.scope.facts is None:
                    raise Unsupported(f"function `{node.name}`", node.span)
                return cppcode.call(f"controller_{node.name}", arguments, acts, "x, c")
            case ir.BuiltinHome.LIBRARY:
                acts = LIBRARY_FUNCTIONS.get(node.name)
                if acts is None:
                    raise Unsupported(f"function `{node.name}`", node.span)
                return cppcode.call(f"library_{node.name}", arguments, acts)
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
        return cppcode.call(f"{kind}_{name}", arguments, acts)

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

    # -------------------------------------------------------------- operators

    def _unary(self, node: ir.Unary) -> Code:
        match node.operator:
            case ir.UnaryOperator.NOT:
                return self.negated(node.operand)
            case ir.UnaryOperator.NEGATE:
                kind = integer_kind(node.type)
                if isinstance(node.operand, ir.IntConst):
                    return integer(wrapped(-node.operand.value, kind), kind)
                operand = self._modular(node.operand, kind)
                text = operand.inside(cppcode.UNARY)
                text = f"-({text})" if text.startswith("-") else f"-{text}"
                return self._signed(Code(text, cppcode.UNARY, operand.acts), kind)
            case ir.UnaryOperator.INCREMENT:
                raise CannotEmit(f"{node.span}: `++` inside of an expression")
            case _:
                assert_never(node.operator)

    def negated(self, node: ir.Expr) -> Code:
        """``!node``, as a reader would write it."""
        match node:
            case ir.BoolConst():
                return cppcode.FALSE if node.value else cppcode.TRUE
            case ir.Unary(operator=ir.UnaryOperator.NOT):
                return self(node.operand)
            case ir.Binary(operator=Op.EQUAL):
                return self._comparison(node, Op.NOT_EQUAL)
            case ir.Binary(operator=Op.NOT_EQUAL):
                return self._comparison(node, Op.EQUAL)
            case _:
                operand = self(node)
                return Code(f"!{operand.inside(cppcode.UNARY)}", cppcode.UNARY, operand.acts)

    def _binary(self, node: ir.Binary) -> Code:
        operator = node.operator
        if operator in _COMPARISON:
            return self._comparison(node, operator)
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
        made = cppcode.choice(self(node.condition), self(node.then), self(node.orelse))
        if isinstance(node.type, ir.ScalarType) and node.type.kind.bits:
            # Two literals would make an `int`, whatever the author calculates with.
            return Code(f"{integer_type(node.type.kind)}({made.text})", acts=made.acts)
        return made

    def _decision(self, node: ir.Binary) -> Code:
        """``&&`` and ``||``: the right side knows what the left one has found out."""
        both = node.operator is Op.AND
        left = self(node.left)
        before = set(self.scope.known)
        self.scope.known |= self.learned(node.left, both)
        right = self(node.right)
        self.scope.known = before
        return cppcode.binary(
            left, "&&" if both else "||", right, cppcode.AND if both else cppcode.OR
        )

    def learned(self, node: ir.Expr, truth: bool) -> set[str]:
        """Pointers that are not null if the condition has turned out so."""
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
                level = cppcode.PRODUCT if node.operator is Op.MULTIPLY else cppcode.SUM
                left, right = self._modular(node.left, inner), self._modular(node.right, inner)
                return cppcode.binary(left, ARITHMETIC[node.operator], right, level)
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
        """A number of an unsigned type as what the author calculates with."""
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
            return cppcode.binary(code, "!=", integer(0), cppcode.EQUALITY)
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
            return cppcode.binary(left, "/" if divides else "%", right, cppcode.PRODUCT)
        name = f"{'divide' if divides else 'remainder'}_{integer_type(kind)}"
        return cppcode.call(name, [left, right], Acts.FAILS | Acts.PLACED)

    def _shift(self, node: ir.Binary) -> Code:
        kind = integer_kind(node.type)
        left, right = self(node.left), self(node.right)
        to_the_left = node.operator is Op.SHIFT_LEFT
        if not (isinstance(node.right, ir.IntConst) and 0 <= node.right.value < kind.bits):
            name = f"{'shift_left' if to_the_left else 'shift_right'}_{integer_type(kind)}"
            return cppcode.call(name, [left, right], Acts.FAILS | Acts.PLACED)
        if not to_the_left:
            return cppcode.binary(left, ">>", right, cppcode.SHIFT)
        if kind.signed or constant(node.left) is not None:
            left = Code(f"{wrapping_type(kind)}({left.text})", acts=left.acts)
        return self._signed(cppcode.binary(left, "<<", right, cppcode.SHIFT), kind)

    def _comparison(self, node: ir.Binary, operator: Op) -> Code:
        left, right = node.left, node.right
        sign, level = _COMPARISON[operator]
        if operator in {Op.EQUAL, Op.NOT_EQUAL}:
            for known, other in ((left, right), (right, left)):
                if isinstance(known, ir.BoolConst):
                    same = known.value is (operator is Op.EQUAL)
                    return self(other) if same else self.negated(other)
            if not is_reference(left.type) and isinstance(left.type, ir.ClassType | ir.StructType):
                return self._equality(node, operator)
        shared = common(left.type, right.type)
        if shared is None:
            return cppcode.binary(self(left), sign, self(right), level)
        return cppcode.binary(
            self.converted(left, shared, bare=True),
            sign,
            self.converted(right, shared, bare=True),
            level,
        )

    def _equality(self, node: ir.Binary, operator: Op) -> Code:
        """Values that are made of parts."""
        type_ = node.left.type
        name = "equal"
        if isinstance(type_, ir.ClassType):
            self.scope.types(type_, node.span)
            name = f"{type_.name}_equal"
        elif isinstance(type_, ir.StructType) and self.is_message(type_.ref):
            raise Unsupported("comparison of messages", node.span)
        code = cppcode.call(name, [self(node.left), self(node.right)])
        if operator is Op.EQUAL:
            return code
        return Code(f"!{code.text}", cppcode.UNARY, code.acts)

    def is_message(self, ref: ir.TypeRef) -> bool:
        return ref in self.scope.names.messages


# ------------------------------------------------------------------ integers


def integer(value: int, kind: ir.ScalarKind = ir.ScalarKind.INT) -> Code:
    """A literal with the value, of a type that holds it."""
    if value < 0:
        text = "(-2147483647 - 1)" if value == -(1 << 31) else str(value)
        if value < -(1 << 31):
            text = f"i64(0x{value & ((1 << 64) - 1):x}u)"
        return Code(text, cppcode.UNARY if text[0] == "-" else cppcode.PRIMARY)
    if value > 0x7FFFFFFF and (not kind.signed or value > 0xFFFFFFFF):
        return Code(f"{value:#x}u")
    return Code(str(value))
