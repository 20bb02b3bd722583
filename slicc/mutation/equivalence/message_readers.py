"""Whether a receiver can tell two values of a message's field apart.

Invariant: every port that a message can arrive at is looked at; a use that is not a comparison with
a constant counts as one that tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.ir.walk import children, direct_expressions, statements_in
from slicc.mutation.reachability import bodies

_EQUALITY = frozenset({ir.BinaryOperator.EQUAL, ir.BinaryOperator.NOT_EQUAL})
Body = tuple[ir.Stmt, ...]


def told_apart(
    protocol: ir.Protocol,
    machine: ir.Machine,
    message: ir.Enqueue,
    field: str,
    values: frozenset[str],
) -> bool:
    """Whether some receiver of a message of ``machine`` tells the values of a field apart.

    No values: whether some receiver looks at the field.
    """
    buffer = next(each.buffer for each in machine.out_ports if each.ref == message.port)
    kinds = _destinations(message)
    receivers = [
        (other, port)
        for other, port in _receivers(protocol, machine, buffer)
        if kinds is None or (other.machine_type or other.name) in kinds
    ]
    if not receivers:
        return True  # memory, or something else that is not written in the language
    return any(_Uses(other, field, values).tell(in_port) for other, in_port in receivers)


def _destinations(message: ir.Enqueue) -> frozenset[str] | None:
    """The kinds of machines that it goes to; None: that is not known."""
    found: set[str] = set()
    for statement in statements_in(message.body):
        match statement:
            case ir.Evaluate(ir.CallMethod(class_name="NetDest", mutates=True) as call):
                match call.arguments:
                    case (ir.CallBuiltin(name=name, arguments=(_, ir.EnumConst(member=kind), *_)),):
                        if call.method != "add" or not name.startswith("mapAddressTo"):
                            return None
                        found.add(kind)
                    case _:
                        return None
            case ir.Assign(target=ir.FieldAccess(type=ir.ClassType(name="NetDest"))):
                return None
            case _:
                pass
    return frozenset(found) or None


def _receivers(
    protocol: ir.Protocol, machine: ir.Machine, buffer: str
) -> Iterator[tuple[ir.Machine, ir.InPort]]:
    link = _link(machine, buffer, ir.NetworkDirection.TO)
    for other in protocol.machines:
        for port in other.in_ports:
            if link is None:
                if other is machine and port.buffer == buffer:
                    yield other, port
                continue
            arriving = _link(other, port.buffer, ir.NetworkDirection.FROM)
            if arriving is not None and arriving.virtual_network == link.virtual_network:
                yield other, port


def _link(
    machine: ir.Machine, buffer: str, direction: ir.NetworkDirection
) -> ir.NetworkLink | None:
    for parameter in machine.parameters:
        if parameter.name == buffer and parameter.network is not None:
            return parameter.network if parameter.network.direction is direction else None
    return None


class _Uses:
    """The uses of a field of the messages of one in-port."""

    def __init__(self, machine: ir.Machine, field: str, values: frozenset[str]) -> None:
        self._machine = machine
        self._field = field
        self._values = values
        self._functions = {each.ref: each for each in machine.functions}

    def tell(self, port: ir.InPort) -> bool:
        """Whether any body that looks at the port's messages tells the values apart."""
        for body in bodies(self._machine):
            for statement in statements_in(body):
                if (
                    isinstance(statement, ir.Peek)
                    and statement.port == port.ref
                    and self._in_body(statement.body, statement.local)
                ):
                    return True
        return False

    def _in_body(self, body: Body, local: str) -> bool:
        return any(
            self._in_expression(node, local)
            for statement in statements_in(body)
            for node in direct_expressions(statement)
        )

    def _is_it(self, node: ir.Expr, local: str) -> bool:
        match node:
            case ir.FieldAccess(receiver=ir.Local(name=name), name=field):
                return name == local and field == self._field
            case _:
                return False

    def _in_expression(self, node: ir.Expr, local: str) -> bool:
        match node:
            case ir.Local(name=name):
                return name == local  # the message as a whole
            case ir.FieldAccess(receiver=ir.Local(name=name), name=field) if name == local:
                return field == self._field
            case ir.Binary(operator, left, ir.EnumConst(member=member)) if (
                operator in _EQUALITY and self._is_it(left, local)
            ):
                return not self._values or member in self._values
            case ir.CallFunction(function=ref, arguments=arguments):
                return self._in_call(ref, arguments, local)
            case _:
                return any(self._in_expression(child, local) for child in children(node))

    def _in_call(self, ref: ir.FunctionRef, arguments: tuple[ir.Expr, ...], local: str) -> bool:
        function = self._functions.get(ref)
        for place, argument in enumerate(arguments):
            if self._is_it(argument, local):
                if function is None or self._in_function(function, place):
                    return True
            elif self._in_expression(argument, local):
                return True
        return False

    def _in_function(self, function: ir.Function, place: int) -> bool:
        """Whether a function tells the values of one of its parameters apart."""
        name = function.parameters[place].name
        return any(
            self._of_parameter(node, name)
            for statement in statements_in(function.body)
            for node in direct_expressions(statement)
        )

    def _of_parameter(self, node: ir.Expr, name: str) -> bool:
        match node:
            case ir.Local(name=other):
                return other == name
            case ir.Binary(operator, ir.Local(name=other), ir.EnumConst(member=member)) if (
                operator in _EQUALITY and other == name
            ):
                return not self._values or member in self._values
            case _:
                return any(self._of_parameter(child, name) for child in children(node))
