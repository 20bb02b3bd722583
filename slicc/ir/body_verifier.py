"""Invariants of bodies: names exist, types agree, values are copied where they must be.

Invariant: a body is checked with the typing rules that resolved it, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.ir import type_rules
from slicc.ir.walk import children, direct_expressions


class World:
    """Everything a body may refer to."""

    def __init__(self, protocol: ir.Protocol, machine: ir.Machine | None) -> None:
        self.machine = machine
        enums = list(protocol.enums)
        structs = list(protocol.structs)
        self.objects: dict[str, ir.Type] = {}
        self.functions: dict[ir.FunctionRef, ir.Function] = {}
        self.ports: set[ir.PortRef] = set()
        if machine is not None:
            enums += [machine.states, machine.events, *machine.enums]
            if machine.request_types is not None:
                enums.append(machine.request_types)
            structs += machine.structs
            self.objects = {p.name: p.type for p in machine.parameters}
            self.objects |= {o.name: o.type for o in machine.objects}
            self.functions = {f.ref: f for f in machine.functions}
            self.ports = {p.ref for p in machine.in_ports}
            self.ports |= {p.ref for p in machine.out_ports}
        self.enums = {enum.ref: {m.name for m in enum.members} for enum in enums}
        self.structs = {struct.ref: struct for struct in structs}
        self.fields = {
            struct.ref: {field.name: field.type for field in struct.fields} for struct in structs
        }
        for struct in structs:
            for method in struct.methods:
                self.functions[method.ref] = method


def unknown_in(type_: ir.Type) -> bool:
    """Whether a type, or the element it holds, is unknown."""
    if isinstance(type_, ir.ClassType) and type_.element is not None:
        return unknown_in(type_.element)
    return isinstance(type_, ir.UnknownType)


class BodyVerifier:
    """Checks one body; ``where`` names it in findings."""

    def __init__(self, world: World, where: str, result: ir.Type = ir.VOID) -> None:
        self.world = world
        self.where = where
        self.result = result
        self.fields: dict[str, ir.Type] = {}
        self._visible: dict[str, ir.Type] = {}
        self._ever: dict[str, ir.Type] = {}

    def declare(self, name: str, type_: ir.Type) -> None:
        """A name comes into scope; ``_ever`` keeps its type, which may not change."""
        self._visible[name] = type_
        self._ever[name] = type_

    def _problem(self, text: str, node: ir.Expr | ir.Stmt) -> str:
        return f"{self.where} at {node.span}: {text}"

    # -- statements

    def statements(self, body: tuple[ir.Stmt, ...]) -> Iterator[str]:
        before = dict(self._visible)
        for node in body:
            for inner in direct_expressions(node):
                yield from self.expression(inner)
            yield from self._statement(node)
        self._visible = before

    def _introduce(self, name: str, type_: ir.Type, node: ir.Stmt) -> Iterator[str]:
        if name in self._visible:
            yield self._problem(f"the local {name} hides another one", node)
        elif self._ever.get(name, type_) != type_:
            yield self._problem(f"the local {name} has two types in one body", node)
        self.declare(name, type_)

    def _statement(self, node: ir.Stmt) -> Iterator[str]:
        match node:
            case ir.Declare(name, type_, initial, copying):
                yield from self._agree(type_, initial, "initial value")
                yield from self._copying(type_, initial, copying, node)
                yield from self._introduce(name, type_, node)
            case ir.Assign(target, value, copying):
                yield from self._agree(target.type, value, "assigned value")
                yield from self._copying(target.type, value, copying, node)
            case ir.If(condition, then, orelse):
                yield from self._agree(ir.BOOL, condition, "condition")
                yield from self.statements(then)
                yield from self.statements(orelse)
            case ir.Return(value):
                yield from self._agree(self.result, value, "returned value")
            case ir.Peek(port, message, local, body):
                yield from self._port(port, node)
                before = dict(self._visible)
                yield from self._introduce(local, ir.StructType(message), node)
                yield from self.statements(body)
                self._visible = before
            case ir.Enqueue():
                yield from self._enqueue(node)
            case (
                ir.StallAndWait(port, address)
                | ir.WakeupPort(port, address)
                | ir.CheckOnCacheProbe(port, address)
            ):
                yield from self._port(port, node)
                yield from self._agree(ir.ADDR, address, "address")
            case ir.CheckAllocate(target):
                if target not in self.world.objects:
                    yield self._problem(f"no object {target}", node)
            case ir.Trigger():
                yield from self._trigger(node)
            case _:
                pass

    def _enqueue(self, node: ir.Enqueue) -> Iterator[str]:
        yield from self._port(node.port, node)
        before = dict(self._visible)
        yield from self._introduce(node.local, ir.StructType(node.message), node)
        yield from self.statements(node.body)
        self._visible = before
        fields = self.world.fields.get(node.message, {})
        for name in node.fresh:
            if name not in fields or not type_rules.is_mutable_value(fields[name]):
                yield self._problem(f"{name} needs no object of its own", node)

    def _trigger(self, node: ir.Trigger) -> Iterator[str]:
        machine = self.world.machine
        assert machine is not None
        yield from self._agree(ir.EnumType(machine.events.ref), node.event, "event")
        yield from self._agree(ir.ADDR, node.address, "address")
        for value, ref in ((node.entry, machine.entry), (node.tbe, machine.tbe)):
            if (value is None) is not (ref is None):
                yield self._problem("trigger has the wrong shape", node)
            elif value is not None and ref is not None:
                yield from self._agree(ir.PointerType(ref), value, "trigger argument")

    def _port(self, port: ir.PortRef, node: ir.Stmt | ir.Expr) -> Iterator[str]:
        if port not in self.world.ports:
            yield self._problem(f"no port {port.name}", node)

    def _copying(
        self, type_: ir.Type, value: ir.Expr, copying: ir.Copying, node: ir.Stmt
    ) -> Iterator[str]:
        if type_rules.is_mutable_value(type_):
            shared = not isinstance(
                value, ir.NewStruct | ir.CallBuiltin | ir.CallMethod | ir.Conditional
            )
            if copying is ir.Copying.REBIND and shared:
                yield self._problem("a mutable value would be shared", node)
        elif copying is not ir.Copying.REBIND:
            yield self._problem("only mutable values are copied", node)

    def _agree(self, wanted: ir.Type, value: ir.Expr, what: str) -> Iterator[str]:
        if not type_rules.same(wanted, value.type):
            yield self._problem(
                f"{what} is {type_rules.describe(value.type)}, not {type_rules.describe(wanted)}",
                value,
            )

    # -- expressions

    def value(self, node: ir.Expr, wanted: ir.Type) -> Iterator[str]:
        """An expression of a given type."""
        yield from self._agree(wanted, node, "value")
        yield from self.expression(node)

    def expression(self, node: ir.Expr) -> Iterator[str]:
        """Everything in one expression."""
        if unknown_in(node.type):
            yield self._problem("unknown type", node)
        for inner in children(node):
            yield from self.expression(inner)
        match node:
            case ir.Local(name, type_):
                if name not in self._visible:
                    yield self._problem(f"no local {name} here", node)
                else:
                    yield from self._agree(self._visible[name], node, f"local {name}")
            case ir.MachineObject(name):
                if name not in self.world.objects:
                    yield self._problem(f"no object {name}", node)
            case ir.SelfField(name):
                if name not in self.fields:
                    yield self._problem(f"no field {name}", node)
            case ir.FieldAccess(receiver, name, type_):
                yield from self._field(receiver, name, type_, node)
            case ir.EnumConst(member, type_):
                if member != "NUM" and member not in self.world.enums.get(type_.ref, ()):
                    yield self._problem(f"no member {type_.ref.name}:{member}", node)
            case ir.Binary(operator, left, right, type_):
                if type_rules.binary_result(operator, left.type, right.type) != type_:
                    yield self._problem(f"{operator.value} gives another type", node)
            case ir.CallFunction(function) | ir.CallStructMethod(_, function):
                yield from self._call(function, node)
            case ir.PortCall(port):
                yield from self._port(port, node)
            case _:
                pass

    def _field(self, receiver: ir.Expr, name: str, type_: ir.Type, node: ir.Expr) -> Iterator[str]:
        if not isinstance(receiver.type, ir.StructType | ir.PointerType):
            yield self._problem(f"{type_rules.describe(receiver.type)} has no fields", node)
            return
        fields = self.world.fields.get(receiver.type.ref, {})
        if name not in fields:
            yield self._problem(f"no field {receiver.type.ref.name}.{name}", node)
        elif fields[name] != type_:
            yield self._problem(f"field {name} is of another type", node)

    def _call(
        self, ref: ir.FunctionRef, node: ir.CallFunction | ir.CallStructMethod
    ) -> Iterator[str]:
        function = self.world.functions.get(ref)
        if function is None:
            yield self._problem(f"no function {ref.name}", node)
            return
        if len(function.parameters) != len(node.arguments):
            yield self._problem(f"{ref.name} is called with another number of arguments", node)
        for parameter, argument in zip(function.parameters, node.arguments):
            if not isinstance(parameter.type, ir.PointerType):
                yield from self._agree(parameter.type, argument, "argument")
        if not type_rules.same(function.result, node.type):
            yield self._problem(f"{ref.name} returns another type", node)
