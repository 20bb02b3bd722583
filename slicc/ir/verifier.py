"""The invariants of resolved IR, as code. Tests run it on everything they compile.

A finding here is a bug of the compiler, never of a protocol: :func:`verify` returns sentences
that name the broken node. Invariant: without findings a backend can rely on every reference, type
and order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc import ir
from slicc.ir.body_verifier import BodyVerifier, World, unknown_in


def verify(protocol: ir.Protocol) -> list[str]:
    """Broken invariants; empty when all hold."""
    problems: list[str] = []
    if len({machine.name for machine in protocol.machines}) != len(protocol.machines):
        problems.append("two machines of one name")
    world = World(protocol, None)
    for enum in protocol.enums:
        problems += _enumeration(enum, None)
    for struct in protocol.structs:
        problems += _structure(world, struct)
    for machine in protocol.machines:
        problems += [f"{machine.name}: {p}" for p in _machine(World(protocol, machine), machine)]
    return problems


def _enumeration(enum: ir.Enum_, machine: str | None) -> Iterator[str]:
    names = [member.name for member in enum.members]
    if len(set(names)) != len(names):
        yield f"enumeration {enum.ref.name} repeats a member"
    if enum.default != "NUM" and enum.default not in names:
        yield f"enumeration {enum.ref.name} has no default member {enum.default}"
    if enum.ref.machine != machine:
        yield f"enumeration {enum.ref.name} stands in the wrong scope"


def _structure(world: World, struct: ir.Struct) -> Iterator[str]:
    name = struct.ref.name
    if len({field.name for field in struct.fields}) != len(struct.fields):
        yield f"structure {name} repeats a field"
    for field in struct.fields:
        if unknown_in(field.type) or unknown_in(field.default.type):
            yield f"field {name}.{field.name} has an unknown type"
        yield from BodyVerifier(world, f"default of {name}.{field.name}").value(
            field.default, field.type
        )
    for method in struct.methods:
        if method.ref.owner != name:
            yield f"method {method.ref.name} does not belong to {name}"
        yield from _function(world, method, struct)


def _function(world: World, function: ir.Function, owner: ir.Struct | None) -> Iterator[str]:
    verifier = BodyVerifier(world, f"function {function.ref.name}", function.result)
    if owner is not None:
        verifier.fields = {field.name: field.type for field in owner.fields}
    for parameter in function.parameters:
        verifier.declare(parameter.name, parameter.type)
    yield from verifier.statements(function.body)


def _machine(world: World, machine: ir.Machine) -> Iterator[str]:
    for enum in (machine.states, machine.events, *machine.enums):
        yield from _enumeration(enum, machine.name)
    if any(member.permission is None for member in machine.states.members):
        yield "a state without permission"
    for struct in machine.structs:
        yield from _structure(world, struct)
    for ref, kind in ((machine.tbe, ir.StructKind.TBE), (machine.entry, ir.StructKind.ENTRY)):
        if ref is not None and world.structs[ref].kind is not kind:
            yield f"{ref.name} is no {kind.value}"
    yield from _names(machine)
    for found in machine.objects:
        if unknown_in(found.type):
            yield f"object {found.name} has an unknown type"
        verifier = BodyVerifier(world, f"object {found.name}")
        for argument in found.arguments:
            yield from verifier.expression(argument)
        if found.initial is not None:
            yield from verifier.value(found.initial, found.type)
    for function in machine.functions:
        yield from _function(world, function, None)
    for action in machine.actions:
        yield from BodyVerifier(world, f"action {action.ref.name}").statements(action.body)
        yield from _needs(world, action.needs, f"action {action.ref.name}")
    yield from _ports(world, machine)
    yield from _transitions(world, machine)
    yield from _cells(machine)


def _names(machine: ir.Machine) -> Iterator[str]:
    groups: dict[str, Iterable[str]] = {
        "object": [p.name for p in machine.parameters] + [o.name for o in machine.objects],
        "function": [f.ref.name for f in machine.functions],
        "action": [a.ref.name for a in machine.actions],
        "port": [p.ref.name for p in machine.in_ports] + [p.ref.name for p in machine.out_ports],
    }
    for what, names in groups.items():
        listed = list(names)
        if len(set(listed)) != len(listed):
            yield f"two of one name: {what}"


def _ports(world: World, machine: ir.Machine) -> Iterator[str]:
    buffers = [(p.ref, p.buffer) for p in machine.in_ports]
    buffers += [(p.ref, p.buffer) for p in machine.out_ports]
    for ref, buffer in buffers:
        if buffer not in world.objects:
            yield f"port {ref.name} stands for no object"
    for in_port in machine.in_ports:
        verifier = BodyVerifier(world, f"in_port {in_port.ref.name}")
        yield from verifier.statements(in_port.body)
        for handler in (in_port.resource_stall_handler, in_port.protocol_stall_handler):
            if handler is not None and handler not in world.functions:
                yield f"port {in_port.ref.name} has an unknown stall handler"


def _needs(world: World, needs: tuple[ir.SlotNeed, ...], where: str) -> Iterator[str]:
    targets = [need.target for need in needs]
    if targets != sorted(set(targets)):
        yield f"needs of {where} are not sorted"
    for need in needs:
        if need.target not in world.objects or need.count < 1:
            yield f"need {need.target}*{need.count} of {where} means nothing"


def _transitions(world: World, machine: ir.Machine) -> Iterator[str]:
    states = {member.name for member in machine.states.members}
    events = {member.name for member in machine.events.members}
    requests = (
        {member.name for member in machine.request_types.members}
        if machine.request_types is not None
        else set()
    )
    actions = {action.ref for action in machine.actions}
    for number, transition in enumerate(machine.transitions):
        where = f"transition {number}"
        if not states.issuperset(transition.states) or not events.issuperset(transition.events):
            yield f"{where} names an unknown state or event"
        if not requests.issuperset(transition.request_types):
            yield f"{where} names an unknown request type"
        if not actions.issuperset(transition.actions):
            yield f"{where} names an unknown action"
        known = transition.next.state in states
        if known is not (transition.next.kind is ir.NextKind.STATE):
            yield f"{where} has no proper next state"
        yield from _needs(world, transition.needs, where)


def _cells(machine: ir.Machine) -> Iterator[str]:
    state_order = {m.name: i for i, m in enumerate(machine.states.members)}
    event_order = {m.name: i for i, m in enumerate(machine.events.members)}
    keys = [(state_order[c.state], event_order[c.event]) for c in machine.cells]
    if keys != sorted(set(keys)):
        yield "cells are not sorted or not unique"
    for cell in machine.cells:
        transition = machine.transitions[cell.transition]
        if cell.state not in transition.states or cell.event not in transition.events:
            yield f"cell ({cell.state}, {cell.event}) is not of transition {cell.transition}"
    expanded = {(s, e) for t in machine.transitions for s in t.states for e in t.events}
    if len(expanded) != len(machine.cells):
        yield "some (state, event) pair of a transition has no cell"
