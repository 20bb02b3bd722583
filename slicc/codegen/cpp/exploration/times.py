"""Times and counters that decide nothing, which need not be part of a state: when a request was
sent, to measure how long it took, or how many there were, to print it.

A field of a time type, or a counter of a machine, decides nothing if it is only assigned to such
fields and printed; a time also if it is handed to a callback of a requester, which counts it,
asserted, or compared to decide whether such a field is assigned. Assertions of times are not judged
where there is no time. Invariant: a use that is not understood decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.time_expressions import (
    CLOCK,
    SUMS,
    compares_times,
    is_time,
    may_measure,
    only_sums,
)
from slicc.text.lazy_dataclass import dataclass

_COUNTING = frozenset({"profileMsgDelay"})
_NOW = frozenset({"clockEdge", "curCycle", "curTick"})
_CALLBACK = "Callback"
"""How methods of requesters end that take times for their statistics."""

Place = tuple[ir.TypeRef | ir.FunctionRef | str | None, str]
"""A field of a structure, an object of a machine, a parameter of a function, or (without an owner)
a field that a method names of its structure."""
_RESULT = ""
"""The place of a function's result, beside those of its parameters."""


@dataclass(frozen=True, slots=True)
class Times:
    """``idle``: fields of a time type, times and counters of machines that decide nothing.
    ``held``: times that decide for how long messages are held back, and nothing else."""

    idle: frozenset[Place]
    held: frozenset[Place]


def measured_times(protocol: ir.Protocol) -> Times:
    uses = _Uses({each.ref: each for m in protocol.machines for each in m.functions})
    machine_structs = [each for machine in protocol.machines for each in machine.structs]
    structs = (*protocol.structs, *machine_structs)
    for struct in structs:
        uses.read("", struct.methods)
        uses.read("", struct.fields)
    for machine in protocol.machines:
        uses.read(machine.name, machine)
    places: list[Place] = [
        (struct.ref, each.name)
        for struct in structs
        for each in struct.fields
        if is_time(each.type)
    ]
    places += [
        (machine.name, each.name)
        for machine in protocol.machines
        for each in machine.objects
        if may_measure(each.type)
    ]
    deciding = uses.deciding()
    free = {p for p in places if p not in deciding and (None, p[1]) not in deciding}
    return Times(frozenset(free - uses.held), frozenset(free & uses.held))


@dataclass(slots=True)
class _Uses:
    """``decides``: places whose value is used; ``sources``: what a place was assigned from;
    ``held``: places that messages wait for; ``latencies``: locals of the body that is read that
    are latencies and nothing else; ``function``: whose body is read, if it is one's."""

    functions: Mapping[ir.FunctionRef, ir.Function]
    decides: set[Place] = field(default_factory=set)
    sources: dict[Place, set[Place]] = field(default_factory=dict)
    held: set[Place] = field(default_factory=set)
    latencies: frozenset[str] = frozenset()
    function: ir.Function | None = None

    def deciding(self) -> frozenset[Place]:
        """What is used, and what comes to be used through others. What a held time was assigned
        from is used: the time may come to be past, or not."""
        found = set(self.decides)
        for place in self.held:
            found |= self.sources.get(place, set())
        left = list(found)
        while left:
            for source in self.sources.get(left.pop(), ()):
                if source not in found:
                    found.add(source)
                    left.append(source)
        return frozenset(found)

    def read(self, machine: str, root: object) -> None:
        """``machine``: whose objects the node (or tuple of nodes) names."""
        match root:
            case ir.Assign(target=target, value=value) if _place(machine, target) is not None:
                place = _place(machine, target)
                assert place is not None
                self._flows(machine, value, place)
                self._receiver(machine, target)
            case ir.Assert(condition=condition) if compares_times(condition):
                pass
            case ir.If(condition=condition) if _only_measures(root):
                for each in body_analysis.walk((root.then, root.orelse)):
                    if isinstance(each, ir.Assign):
                        place = _place(machine, each.target)
                        assert place is not None
                        self.sources.setdefault(place, set()).update(_places(machine, condition))
                self.read(machine, root.then)
                self.read(machine, root.orelse)
            case ir.If(condition=condition) if self._holds_back(machine, root):
                self.held.update(_places(machine, condition))
                for each in root.then:
                    if isinstance(each, ir.Assign) and not isinstance(each.target, ir.Local):
                        self.read(machine, each)
            case ir.Function(body=body) | ir.Action(body=body) | ir.InPort(body=body):
                self.latencies = _latencies(body)
                self.function = root if isinstance(root, ir.Function) else None
                self.read(machine, body)
                self.latencies = frozenset()
                self.function = None
            case ir.Return(value=value) if self.function is not None and is_time(value.type):
                self._flows(machine, value, (self.function.ref, _RESULT))
            case ir.CallFunction(function=ref) if ref in self.functions:
                if is_time(root.type):
                    self.decides.add((ref, _RESULT))
                self._arguments(machine, root)
            case ir.CallMethod(class_name="TimerTable", method="set", arguments=(line, tick)):
                self.read(machine, line)  # an alarm goes off at any time
                self._flows(machine, tick, None)
            case ir.CallMethod(method=method) if method.endswith(_CALLBACK):
                self._counted(machine, root.arguments)
            case ir.CallBuiltin(name=name) if name in _COUNTING:
                self._counted(machine, root.arguments)
            case ir.Trace() | ir.TransitionComment():
                pass
            case tuple():
                for each in root:
                    self.read(machine, each)
            case ir.Node():
                place = _place(machine, root) or self._parameter(root)
                if place is not None:
                    self.decides.add(place)
                for name in body_analysis.parts(type(root)):
                    self.read(machine, getattr(root, name))
            case _:
                pass

    def _counted(self, machine: str, arguments: tuple[ir.Expr, ...]) -> None:
        for each in arguments:
            if not (is_time(each.type) and only_sums(each)):
                self.read(machine, each)

    def _flows(self, machine: str, value: ir.Expr, to: Place | None) -> None:
        """What is computed there is assigned, or counts for nothing."""
        match value:
            case ir.Binary(operator=operator, left=left, right=right) if operator in SUMS:
                self._flows(machine, left, to)
                self._flows(machine, right, to)
            case ir.Cast(operand=operand) if is_time(value.type):
                self._flows(machine, operand, to)
            case ir.CallBuiltin(name=name, arguments=arguments) if name in CLOCK:
                for each in arguments:
                    self._flows(machine, each, to)
            case ir.CallFunction(function=ref) if ref in self.functions and is_time(value.type):
                self._assigned((ref, _RESULT), to)
                self._arguments(machine, value)
            case _:
                place = _place(machine, value) or self._parameter(value)
                if place is None:
                    self.read(machine, value)
                    return
                self._assigned(place, to)
                self._receiver(machine, value)

    def _assigned(self, place: Place, to: Place | None) -> None:
        if to is not None:
            self.sources.setdefault(to, set()).add(place)

    def _arguments(self, machine: str, call: ir.CallFunction) -> None:
        function = self.functions[call.function]
        for parameter, argument in zip(function.parameters, call.arguments, strict=True):
            if is_time(parameter.type) and not parameter.by_reference:
                self._flows(machine, argument, (function.ref, parameter.name))
            else:
                self.read(machine, argument)

    def _parameter(self, node: ir.Node) -> Place | None:
        """What a function was given."""
        match node:
            case ir.Local(name=name) if self.function is not None and any(
                name == each.name and is_time(each.type) for each in self.function.parameters
            ):
                return self.function.ref, name
            case _:
                return None

    def _receiver(self, machine: str, target: ir.Expr) -> None:
        if isinstance(target, ir.FieldAccess):
            self.read(machine, target.receiver)

    def _holds_back(self, machine: str, statement: ir.If) -> bool:
        """Whether a message is sent later if a time has not come, by as long as it takes to come:
        `if (T > curTick()) { latency := T - curTick(); ... }`."""
        match statement:
            case ir.If(
                condition=ir.Binary(
                    operator=ir.BinaryOperator.GREATER, left=time, right=ir.CallBuiltin(name=clock)
                ),
                then=then,
                orelse=(),
            ) if clock in _NOW and (place := _place(machine, time)) is not None:
                return all(
                    isinstance(each, ir.Assign)
                    and (
                        self._is_wait(machine, each, place)
                        or (_place(machine, each.target) == place and not _any(machine, each.value))
                    )
                    for each in then
                )
            case _:
                return False

    def _is_wait(self, machine: str, statement: ir.Assign, until: Place) -> bool:
        match statement:
            case ir.Assign(
                target=ir.Local(name=name),
                value=ir.Binary(operator=ir.BinaryOperator.SUBTRACT, left=left, right=right),
            ) if name in self.latencies:
                clock = _without_casts(right)
                is_clock = isinstance(clock, ir.CallBuiltin) and clock.name in _NOW
                return is_clock and _place(machine, _without_casts(left)) == until
            case _:
                return False


def _latencies(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """Locals that only say how long messages take."""
    declared: set[str] = set()
    read: set[str] = set()
    expected: set[int] = set()
    for node in body_analysis.walk(body):
        match node:
            case ir.Declare(name=name, type=type_) if is_time(type_):
                declared.add(name)
            case ir.Assign(target=ir.Local() as target):
                expected.add(id(target))
            case ir.Enqueue(latency=ir.Local() as latency):
                expected.add(id(latency))
            case ir.Local(name=name) if id(node) not in expected:
                read.add(name)
            case _:
                pass
    return frozenset(declared - read)


def _without_casts(value: ir.Expr) -> ir.Expr:
    """Conversions between times change nothing."""
    while isinstance(value, ir.Cast) and is_time(value.type) and is_time(value.operand.type):
        value = value.operand
    return value


def _any(machine: str, value: ir.Expr) -> bool:
    return any(True for _ in _places(machine, value))


def _place(machine: str, node: ir.Node) -> Place | None:
    """What holds a time, if the node names such a thing."""
    match node:
        case ir.FieldAccess(receiver=receiver, name=name, type=type_) if is_time(type_):
            of = receiver.type
            return (of.ref if isinstance(of, ir.StructType | ir.PointerType) else None, name)
        case ir.MachineObject(name=name, type=type_) if may_measure(type_):
            return machine, name
        case ir.SelfField(name=name, type=type_) if is_time(type_):
            return None, name
        case _:
            return None


def _places(machine: str, value: ir.Expr) -> Iterator[Place]:
    for node in body_analysis.walk(value):
        place = _place(machine, node)
        if place is not None:
            yield place


def _only_measures(statement: ir.Stmt) -> bool:
    """Whether it does nothing but assign and assert times."""
    match statement:
        case ir.If(condition=condition, then=then, orelse=orelse):
            return compares_times(condition) and all(map(_only_measures, (*then, *orelse)))
        case ir.Assign(target=target, value=value):
            return only_sums(target) and only_sums(value)
        case ir.Assert(condition=condition):
            return compares_times(condition)
        case ir.Trace() | ir.TransitionComment():
            return True
        case _:
            return False
