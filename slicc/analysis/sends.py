"""What actions send: which message, to whom, on which virtual network, as the text says it.

Invariant: what is shown stems from the statements of the action and of the functions that it
calls; a value that depends on the run is named by its expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.ir.expression_printer import expression
from slicc.ir.walk import expressions_in, statements_in
from slicc.text.lazy_dataclass import dataclass

_NOT_A_KIND = frozenset({"MessageSizeType", "RubyAccessMode", "PrefetchBit"})
"""Enumerations that say how a message travels, not what it asks."""
_BY_TYPE = frozenset({"mapAddressToMachine", "mapAddressToRange", "createMachineID", "broadcast"})
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Send:
    """One ``enqueue``. ``kinds``: values of the field that says what is asked (``GETX``).

    ``network``: its number, None for a queue that is no network's (``buffer``: its name).
    ``receivers``: as written (``Directory``, ``Requestor``); ``machines``: types named there.
    """

    enqueue: ir.Enqueue
    kinds: tuple[str, ...]
    buffer: str
    network: int | None
    receivers: tuple[str, ...]
    machines: tuple[str, ...]

    @property
    def what(self) -> str:
        """``GETX``, or what the class of the message is called."""
        return " or ".join(self.kinds) or self.enqueue.message.name

    @property
    def text(self) -> str:
        """``GETX to Directory``."""
        to = ", ".join(self.receivers)
        if not to and self.network is None:
            to = "memory" if self.enqueue.message.name == "MemoryMsg" else self.buffer
        return f"{self.what} to {to}" if to else self.what


def sends_of(facts: MachineFacts) -> dict[ir.ActionRef, tuple[Send, ...]]:
    """By action, in the order of the text; actions that send nothing have an empty entry."""
    reader = _Reader(facts)
    return {action.ref: tuple(reader.of(action.body)) for action in facts.machine.actions}


class _Reader:
    def __init__(self, facts: MachineFacts) -> None:
        self._facts = facts
        self._out_ports = {port.ref: port for port in facts.machine.out_ports}
        self._structs = {
            struct.ref: struct for struct in (*facts.protocol.structs, *facts.machine.structs)
        }

    def of(self, body: tuple[ir.Stmt, ...]) -> Iterator[Send]:
        for reached in self._facts.reached(body):
            for statement in statements_in(reached):
                if isinstance(statement, ir.Enqueue) and statement.port in self._out_ports:
                    yield self._send(statement)

    def _send(self, enqueue: ir.Enqueue) -> Send:
        buffer = self._out_ports[enqueue.port].buffer
        link = self._facts.links.get(buffer)
        field = self._kind_field(enqueue.message)
        kinds: list[str] = []
        receivers: list[str] = []
        machines: list[str] = []
        for statement in statements_in(enqueue.body):
            match statement:
                case ir.Assign(ir.FieldAccess(ir.Local(enqueue.local), name), value):
                    if name == field:
                        kinds += _values(value)
                    elif _is_receivers(value.type):
                        value = self._returned(value)
                        receivers.append(_receiver(value))
                        machines += machine_types(value)
                case ir.Evaluate(
                    ir.CallMethod(
                        ir.FieldAccess(ir.Local(enqueue.local)) as target, arguments=arguments
                    ) as call
                ) if call.mutates and _is_receivers(target.type):
                    given = [*map(self._returned, arguments)]
                    receivers += map(_receiver, given)
                    machines += (name for each in given for name in machine_types(each))
        return Send(
            enqueue,
            tuple(dict.fromkeys(kinds)),
            buffer,
            None if link is None else link.virtual_network,
            tuple(dict.fromkeys(receivers)),
            tuple(dict.fromkeys(machines)),
        )

    def _returned(self, value: ir.Expr) -> ir.Expr:
        """What a function returns that does nothing else, as one that knows the home of a line."""
        called: set[ir.FunctionRef] = set()
        while isinstance(value, ir.CallFunction) and value.function not in called:
            called.add(value.function)
            function = self._facts.functions.get(value.function)
            match function.body if function is not None else ():
                case (ir.Return(returned),):
                    value = returned
        return value

    def _kind_field(self, message: ir.TypeRef) -> str | None:
        struct = self._structs.get(message)
        if struct is None:
            return None
        return next(
            (
                field.name
                for field in struct.fields
                if isinstance(field.type, ir.EnumType) and field.type.ref.name not in _NOT_A_KIND
            ),
            None,
        )


def _values(value: ir.Expr) -> Iterable[str]:
    match value:
        case ir.EnumConst(member):
            return (member,)
        case ir.Conditional(_, then, orelse):
            return (*_values(then), *_values(orelse))
        case _:
            return (_short(value),)


def _is_receivers(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ClassType) and type_.name == "NetDest"


def _receiver(value: ir.Expr) -> str:
    """``Directory`` of ``mapAddressToMachine(address, MachineType:Directory)``."""
    named = ", ".join(dict.fromkeys(machine_types(value)))
    match value:
        case ir.CallBuiltin("broadcast"):
            return f"every {named}" if named else "everyone"
        case ir.CallBuiltin(name) if name in _BY_TYPE and named:
            return named
        case ir.EnumConst(member):
            return f"every {member}"
        case ir.ControllerValue():
            return "itself"
        case ir.FieldAccess(name=name):
            return name
        case _:
            return _short(value)


def machine_types(value: ir.Expr) -> Iterator[str]:
    """Types of machines that an expression names."""
    for node in expressions_in((ir.Return(value, span=value.span),)):
        if isinstance(node, ir.EnumConst) and node.type.ref.name == "MachineType":
            yield node.member


def _short(value: ir.Expr) -> str:
    text = expression(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
