"""Bodies of the IR as closures over a frame.

Closures, because a step runs some fifty expressions and an exploration some ten thousand steps.
Invariant: a closure evaluates left to right, as the IR says, and keeps nothing between steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Final

from slicc import ir
from slicc.analysis.product import library, operators
from slicc.analysis.product.step import Sent, Step, Waiting
from slicc.analysis.product.values import (
    KIND,
    UNKNOWN,
    Defaults,
    NullUsed,
    Record,
    Unmodelled,
    Value,
    copied,
)
from slicc.ir import BinaryOperator as Op
from slicc.text.lazy_dataclass import dataclass

_CALLS: Final = 4000
"""More calls than this in one step are not followed: a loop of the text, or a very large body."""


class Reached(Exception):
    """An ``error(…)`` or a false ``assert`` was reached, at ``span``."""

    def __init__(self, span: Any, what: str) -> None:
        super().__init__(what)
        self.span = span
        self.what = what


@dataclass(slots=True)
class Frame:
    """One call: its variables, and the record whose method it is."""

    step: Step
    names: dict[str, Value] = field(default_factory=dict)
    this: Record | None = None


Evaluate = Callable[[Frame], Value]
Run = Callable[[Frame], "Value"]
"""A statement: None, or a list of one value that the function returns."""
Fire = Callable[[Frame, str, Value, Value, Value], None]
"""What a trigger does: ends the port by an exception, or returns after a stall."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What the text counts at one place, taken as that much more."""

    count: ir.Expr
    by: int


@dataclass(slots=True)
class Function:
    """A function with a body; ``body`` is filled in when all are known."""

    parameters: tuple[ir.FunctionParameter, ...]
    body: tuple[Run, ...] = ()


def run(body: tuple[Run, ...], frame: Frame) -> Value:
    """Run statements up to a return; its value in a list, or None."""
    for statement in body:
        result = statement(frame)
        if result is not None:
            return result
    return None


class Bodies:
    """Makes closures of the bodies of one machine."""

    def __init__(
        self,
        machine: ir.Machine,
        defaults: Defaults,
        fire: Fire,
        correction: Correction | None = None,
    ) -> None:
        self._defaults = defaults
        self._fire = fire
        self._correction = correction
        self._permissions = {
            member.name: member.permission.value if member.permission else "NUM"
            for member in machine.states.members
        }
        self._out_ports = {port.ref: port for port in machine.out_ports}
        self.functions: dict[ir.FunctionRef, Function] = {}
        declared = [*machine.functions]
        for struct in machine.structs:
            declared += struct.methods
        declared = [each for each in declared if not _is_external(each)]
        for each in declared:
            self.functions[each.ref] = Function(each.parameters)
        for each in declared:
            self.functions[each.ref].body = self.block(each.body)

    def add_methods(self, structs: tuple[ir.Struct, ...]) -> None:
        """Methods of structures that all machines share, so far as bodies use them."""
        for struct in structs:
            for method in struct.methods:
                function = Function(method.parameters)
                self.functions[method.ref] = function
                function.body = self.block(method.body)

    def block(self, statements: tuple[ir.Stmt, ...]) -> tuple[Run, ...]:
        """The statements as closures; those without effect are left out."""
        made = [self._statement(each) for each in statements]
        return tuple(each for each in made if each is not None)

    # ------------------------------------------------------------------ statements

    def _statement(self, statement: ir.Stmt) -> Run | None:
        match statement:
            case ir.Declare(name, _, initial):
                return self._declare(name, self.expression(initial))
            case ir.Assign(target, value, copying):
                return self._assign(target, value, copying)
            case ir.Evaluate(expression):
                return _effect(self.expression(expression))
            case ir.If(condition, then, orelse):
                return self._if(condition, self.block(then), self.block(orelse))
            case ir.Return(value):
                result = self.expression(value)
                return lambda f: [result(f)]
            case ir.Peek():
                return self._peek(statement)
            case ir.Enqueue():
                return self._enqueue(statement)
            case ir.Trigger(event, address, entry, tbe):
                return self._trigger(event, address, entry, tbe)
            case ir.StallAndWait(port):
                return _stall_and_wait(port.name)
            case ir.WakeupPort(port):
                name = port.name
                return lambda f: f.step.wake(name)
            case ir.SetTransaction(which, optional):
                return self._set_transaction(which, optional)
            case ir.Panic(text):
                return _panic(statement.span, text)
            case ir.Assert(condition):
                return self._assert(statement.span, condition)
            case _:
                return None

    @staticmethod
    def _declare(name: str, initial: Evaluate) -> Run:
        def declare(f: Frame) -> None:
            f.names[name] = initial(f)

        return declare

    def _assign(self, target: ir.Expr, value: ir.Expr, copying: ir.Copying) -> Run:
        put, get = self._put(target), self.expression(value)
        if copying is ir.Copying.REBIND:
            return lambda f: put(f, get(f))
        return lambda f: put(f, copied(get(f)))

    def _if(self, condition: ir.Expr, then: tuple[Run, ...], orelse: tuple[Run, ...]) -> Run:
        holds = self.truth(condition)
        return lambda f: run(then if holds(f) else orelse, f)

    def _peek(self, peek: ir.Peek) -> Run:
        name, local, body = peek.port.name, peek.local, self.block(peek.body)
        wakes = peek.wake_up is not None

        def look(f: Frame) -> Value:
            step = f.step
            if step.port != name or step.message is None or step.popped:
                raise Unmodelled("looks at another port")
            if wakes:
                step.wake(name)
            f.names[local] = step.message
            return run(body, f)

        return look

    def _enqueue(self, enqueue: ir.Enqueue) -> Run:
        ref, local, body = enqueue.message, enqueue.local, self.block(enqueue.body)
        out_port = self._out_ports.get(enqueue.port)
        buffer = out_port.buffer if out_port is not None else ""
        new, span = self._defaults.record, enqueue.span

        def send(f: Frame) -> None:
            message = new(ref)
            f.names[local] = message
            run(body, f)
            f.step.sent.append(Sent(buffer, copied(message), span))

        return send

    def _trigger(
        self, event: ir.Expr, address: ir.Expr, entry: ir.Expr | None, tbe: ir.Expr | None
    ) -> Run:
        what, where = self.expression(event), self.expression(address)
        its_entry = self.expression(entry) if entry is not None else _null
        its_tbe = self.expression(tbe) if tbe is not None else _null
        fire = self._fire
        return lambda f: fire(f, what(f), where(f), its_entry(f), its_tbe(f))

    def _set_transaction(self, which: ir.TransactionField, value: ir.Expr | None) -> Run:
        get = self.expression(value) if value is not None else _null
        if which is ir.TransactionField.TBE:

            def set_tbe(f: Frame) -> None:
                f.step.tbe = get(f)

            return set_tbe

        def set_entry(f: Frame) -> None:
            f.step.entry = get(f)

        return set_entry

    def _assert(self, span: Any, condition: ir.Expr) -> Run:
        holds = self.expression(condition)

        def check(f: Frame) -> None:
            if holds(f) is False:
                raise Reached(span, "this assertion is false")

        return check

    # ------------------------------------------------------------------ expressions

    def truth(self, condition: ir.Expr) -> Callable[[Frame], bool]:
        """The condition as a decision: an unknown one is decided by the step."""
        match condition:
            case ir.Binary(ir.BinaryOperator.AND, left, right):
                a, b = self.truth(left), self.truth(right)
                return lambda f: a(f) and b(f)
            case ir.Binary(ir.BinaryOperator.OR, left, right):
                a, b = self.truth(left), self.truth(right)
                return lambda f: a(f) or b(f)
            case ir.Unary(ir.UnaryOperator.NOT, operand):
                inner = self.truth(operand)
                return lambda f: not inner(f)
        value = self.expression(condition)

        def holds(f: Frame) -> bool:
            found = value(f)
            return f.step.decide() if found is UNKNOWN else bool(found)

        return holds

    def expression(self, node: ir.Expr) -> Evaluate:
        """The expression as a closure."""
        made = self._expression(node)
        if self._correction is None or node is not self._correction.count:
            return made
        corrected = operators.plus(self._correction.by, node.type)
        return lambda f: corrected(made(f))

    def _expression(self, node: ir.Expr) -> Evaluate:
        match node:
            case ir.IntConst(value) | ir.BoolConst(value) | ir.StringConst(value):
                return lambda f: value
            case ir.EnumConst(member):
                return lambda f: member
            case ir.Null():
                return _null
            case ir.Local(name):
                return lambda f: f.names.get(name, UNKNOWN)
            case ir.MachineObject(name):
                return lambda f: f.step.objects.get(name, UNKNOWN)
            case ir.ControllerValue(which):
                return _controller(which)
            case ir.TransactionValue(which):
                return _transaction(which)
            case ir.SelfField(name):
                return lambda f: UNKNOWN if f.this is None else f.this.get(name, UNKNOWN)
            case ir.FieldAccess(receiver, name):
                return self._field(node, self.expression(receiver), name)
            case ir.Unary(kind, operand):
                return self._unary(kind, operand)
            case ir.Binary(kind, left, right):
                return self._binary(node, kind, left, right)
            case ir.Conditional(condition, then, orelse):
                holds, a, b = self.truth(condition), self.expression(then), self.expression(orelse)
                return lambda f: a(f) if holds(f) else b(f)
            case ir.CallFunction(function, arguments):
                return self._call(function, arguments)
            case ir.CallStructMethod(receiver, function, arguments):
                return self._struct_call(receiver, function, arguments)
            case ir.CallMethod():
                return self._method(node)
            case ir.CallBuiltin(name, arguments=arguments):
                return self._builtin(name, arguments)
            case ir.StateToPermission(operand=operand):
                state, permissions = self.expression(operand), self._permissions
                return lambda f: permissions.get(state(f), UNKNOWN)
            case ir.PortCall(port, operation):
                return _port_call(port.name, operation)
            case ir.NewEntry(type):
                ref, new = type.ref, self._defaults.record
                return lambda f: new(ref)
            case ir.NewStruct(made):
                default = self._defaults.of
                return lambda f: default(made)
            case ir.NullTest(valid, operand):
                return self._null_test(valid, self.expression(operand))
            case ir.Cast(operand):
                return self._cast(operand, node.type)
            case ir.EnumToString(operand):
                return self.expression(operand)
            case _:
                raise AssertionError(f"a new kind of expression: {node!r}")

    @staticmethod
    def _field(node: ir.FieldAccess, receiver: Evaluate, name: str) -> Evaluate:
        span = node.span

        def get(f: Frame) -> Value:
            record = receiver(f)
            if record is None:
                raise NullUsed(span)
            return UNKNOWN if record is UNKNOWN else record.get(name, UNKNOWN)

        return get

    def _unary(self, kind: ir.UnaryOperator, operand: ir.Expr) -> Evaluate:
        value, change = self.expression(operand), operators.unary(kind, operand.type)
        if kind is not ir.UnaryOperator.INCREMENT:
            return lambda f: change(value(f))
        put = self._put(operand)

        def increment(f: Frame) -> Value:
            before = value(f)
            put(f, change(before))
            return before

        return increment

    def _cast(self, operand: ir.Expr, type: ir.Type) -> Evaluate:
        value, convert = self.expression(operand), operators.converted(operand.type, type)
        return lambda f: convert(value(f))

    def _binary(self, node: ir.Binary, kind: Op, left: ir.Expr, right: ir.Expr) -> Evaluate:
        if kind in (Op.AND, Op.OR):
            return self.truth(node)
        a, b = self.expression(left), self.expression(right)
        operation = operators.binary(kind, left.type, right.type, node.type)

        def binary(f: Frame) -> Value:
            x, y = a(f), b(f)
            if x is UNKNOWN or y is UNKNOWN:
                return UNKNOWN
            return operation(x, y)

        return binary

    def _call(self, ref: ir.FunctionRef, arguments: tuple[ir.Expr, ...]) -> Evaluate:
        function = self.functions.get(ref)
        if function is None:
            return lambda f: UNKNOWN
        getters = [self.expression(each) for each in arguments]
        names = [parameter.name for parameter in function.parameters]
        back = [
            (parameter.name, self._put(argument))
            for parameter, argument in zip(function.parameters, arguments)
            if parameter.by_reference and _is_place(argument)
        ]

        def call(f: Frame) -> Value:
            _count(f.step)
            inner = Frame(f.step, {name: get(f) for name, get in zip(names, getters)}, f.this)
            result = run(function.body, inner)
            for name, put in back:
                put(f, inner.names[name])
            return None if result is None else result[0]

        return call

    def _struct_call(
        self, receiver: ir.Expr, ref: ir.FunctionRef, arguments: tuple[ir.Expr, ...]
    ) -> Evaluate:
        record = self.expression(receiver)
        getters = [self.expression(each) for each in arguments]

        def call(f: Frame) -> Value:
            _count(f.step)
            function, this = self.functions.get(ref), record(f)
            if function is None or not isinstance(this, dict):
                return UNKNOWN
            names = [parameter.name for parameter in function.parameters]
            inner = Frame(f.step, {name: get(f) for name, get in zip(names, getters)}, this)
            result = run(function.body, inner)
            return None if result is None else result[0]

        return call

    def _method(self, node: ir.CallMethod) -> Evaluate:
        getters = [self.expression(each) for each in node.arguments]
        receiver, method = node.receiver, node.method
        if node.class_name in library.STORES and isinstance(receiver, ir.MachineObject):
            name, type = receiver.name, node.receiver.type
            element = type.element if isinstance(type, ir.ClassType) else None
            record, store = self._defaults.record, library.store_call
            ref = element.ref if isinstance(element, ir.PointerType | ir.StructType) else None
            makes = method == "allocate" and len(getters) == 1 and ref is not None

            def stored(f: Frame) -> Value:
                new = record(ref) if makes and ref is not None else None
                return store(f.step, name, method, [get(f) for get in getters], new)

            return stored
        if "Callback" in method:
            answer = library.requester_call
            return lambda f: answer(f.step, method, [get(f) for get in getters])
        value = self.expression(receiver)
        if node.mutates:
            put, change = self._put(receiver), library.changed

            def mutate(f: Frame) -> Value:
                put(f, change(f.step, method, value(f), [get(f) for get in getters]))
                return UNKNOWN

            return mutate
        ask = library.value_call
        return lambda f: ask(f.step, method, value(f), [get(f) for get in getters])

    def _builtin(self, name: str, arguments: tuple[ir.Expr, ...]) -> Evaluate:
        getters = [self.expression(each) for each in arguments]
        call = library.function_call
        return lambda f: call(f.step, name, [get(f) for get in getters])

    @staticmethod
    def _null_test(valid: bool, operand: Evaluate) -> Evaluate:
        def test(f: Frame) -> Value:
            value = operand(f)
            return UNKNOWN if value is UNKNOWN else (value is not None) is valid

        return test

    # ------------------------------------------------------------------ places

    def _put(self, target: ir.Expr) -> Callable[[Frame, Value], None]:
        match target:
            case ir.Local(name):

                def put_local(f: Frame, value: Value) -> None:
                    f.names[name] = value

                return put_local
            case ir.MachineObject(name):

                def put_object(f: Frame, value: Value) -> None:
                    f.step.objects[name] = value

                return put_object
            case ir.FieldAccess(receiver, name):
                return _put_field(target, self.expression(receiver), name)
            case ir.SelfField(name):

                def put_own(f: Frame, value: Value) -> None:
                    if f.this is not None:
                        f.this[name] = value

                return put_own
            case _:
                return lambda f, value: None


def _put_field(
    node: ir.FieldAccess, receiver: Evaluate, name: str
) -> Callable[[Frame, Value], None]:
    span = node.span

    def put(f: Frame, value: Value) -> None:
        record = receiver(f)
        if record is None:
            raise NullUsed(span)
        if record is not UNKNOWN:
            record[name] = value

    return put


def _is_place(node: ir.Expr) -> bool:
    return isinstance(node, ir.Local | ir.MachineObject | ir.FieldAccess | ir.SelfField)


def _effect(value: Evaluate) -> Run:
    def effect(f: Frame) -> None:
        value(f)

    return effect


def _null(f: Frame) -> None:
    return None


def _count(step: Step) -> None:
    step.calls += 1
    if step.calls > _CALLS:
        raise Unmodelled("too many calls")


def _is_external(function: ir.Function) -> bool:
    """Whether only a library that is not there defines it: what it does is unknown."""
    match function.body:
        case (ir.Panic(text),):
            return text == function.desc
        case _:
            return False


def _panic(span: Any, text: str) -> Run:
    def panic(f: Frame) -> None:
        raise Reached(span, f"`error` is reached: {text}")

    return panic


def _stall_and_wait(name: str) -> Run:
    def wait(f: Frame) -> None:
        step = f.step
        if step.port != name or step.message is None:
            raise Unmodelled("stalls another port's message")
        step.take()
        step.waiting.append(Waiting(name, step.source, step.message))

    return wait


def _controller(which: ir.ControllerField) -> Evaluate:
    match which:
        case ir.ControllerField.MACHINE_ID:
            return lambda f: f.step.me
        case ir.ControllerField.VERSION:
            return lambda f: f.step.me[1]
        case ir.ControllerField.CLUSTER_ID:
            return lambda f: 0
        case _:
            return lambda f: 1


def _transaction(which: ir.TransactionField) -> Evaluate:
    match which:
        case ir.TransactionField.ADDRESS:
            return lambda f: f.step.address
        case ir.TransactionField.TBE:
            return lambda f: f.step.tbe
        case ir.TransactionField.ENTRY:
            return lambda f: f.step.entry


def _port_call(name: str, operation: ir.PortOperation) -> Evaluate:
    match operation:
        case ir.PortOperation.IS_READY:
            return lambda f: f.step.port == name and not f.step.popped
        case ir.PortOperation.DEQUEUE:

            def dequeue(f: Frame) -> Value:
                if f.step.port != name:
                    raise Unmodelled("pops another port")
                f.step.take()
                return UNKNOWN  # how long it waited

            return dequeue
        case ir.PortOperation.RECYCLE:

            def recycle(f: Frame) -> None:
                if f.step.port != name:
                    raise Unmodelled("recycles another port")
                f.step.recycled = True

            return recycle
        case ir.PortOperation.IS_EMPTY:
            return lambda f: f.step.port != name
        case ir.PortOperation.IS_STALL_MAP_EMPTY:
            return lambda f: not f.step.waiting
        case ir.PortOperation.STALL_MAP_SIZE:
            return lambda f: len(f.step.waiting)
        case ir.PortOperation.HAS_STALLED:
            return lambda f: any(each.port == name for each in f.step.waiting)
        case ir.PortOperation.GET_SIZE:
            return lambda f: UNKNOWN


__all__ = ["KIND", "Bodies", "Evaluate", "Frame", "Function", "Reached", "Run", "run"]
