"""Times and counters that decide nothing, which need not be part of a state: when a request was
sent, to measure how long it took, or how many there were, to print it.

A field of a time type, or a counter of a machine, decides nothing if it is only assigned to such
fields and printed; a time also if it is handed to a callback of a requester, which counts it,
asserted, or compared to decide whether such a field is assigned. Assertions of times are not judged
where there is no time. Invariant: a use that is not understood decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.time_expressions import compares_times, is_time, may_measure, only_sums
from slicc.text.lazy_dataclass import dataclass

_COUNTING = frozenset({"profileMsgDelay"})
_CALLBACK = "Callback"
"""How methods of requesters end that take times for their statistics."""

Place = tuple[ir.TypeRef | str | None, str]
"""A field of a structure, an object of a machine, or (without an owner) a field that a method names
of its structure."""


def idle_times(protocol: ir.Protocol) -> frozenset[Place]:
    """Fields of structures of a time type, times and counters of machines: those that decide
    nothing."""
    uses = _Uses()
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
    return frozenset(
        place for place in places if place not in deciding and (None, place[1]) not in deciding
    )


@dataclass(slots=True)
class _Uses:
    """``decides``: places whose value is used; ``sources``: what a place was assigned from."""

    decides: set[Place] = field(default_factory=set)
    sources: dict[Place, set[Place]] = field(default_factory=dict)

    def deciding(self) -> frozenset[Place]:
        """What is used, and what comes to be used through others."""
        found = set(self.decides)
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
                if only_sums(value):
                    self.sources.setdefault(place, set()).update(_places(machine, value))
                else:
                    self.read(machine, value)
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
                place = _place(machine, root)
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

    def _receiver(self, machine: str, target: ir.Expr) -> None:
        if isinstance(target, ir.FieldAccess):
            self.read(machine, target.receiver)


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
