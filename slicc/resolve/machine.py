"""One machine, from its declarations to IR: first the names, then the bodies.

Invariant: a declaration that could not be resolved has been reported and is left out of the result.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import assert_never

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.resolve.bodies.bodies import function_body, port_body
from slicc.resolve.call_order import callees_first
from slicc.resolve.declarations.actions import (
    NeedCounter,
    Needs,
    declare_actions,
    resolve_actions,
    slot_needs,
)
from slicc.resolve.declarations.functions import check_required, declare_functions
from slicc.resolve.declarations.parameters import declare_objects, declare_parameters
from slicc.resolve.declarations.ports import declare_ports, is_guarded, port_rank, stall_handler
from slicc.resolve.declarations.structures import complete_types
from slicc.resolve.declarations.transitions import cells_of, resolve_transitions
from slicc.resolve.declarations.types import declare_types
from slicc.resolve.freed_records import with_checks
from slicc.resolve.index import Index
from slicc.resolve.library.stub_bodies import stub_functions
from slicc.resolve.scope.pairs import check_keys, description
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import FunctionSymbol, did_you_mean, own_members
from slicc.resolve.scope.type_lowering import enumerations_of, structures_of, to_enumeration
from slicc.source import Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class _Sorted:
    """A machine's declarations by kind, each in source order."""

    objects: list[syntax.ObjectDeclaration] = field(default_factory=list)
    functions: list[syntax.Function] = field(default_factory=list)
    ports: list[syntax.InPort | syntax.OutPort] = field(default_factory=list)
    actions: list[syntax.Action] = field(default_factory=list)
    transitions: list[syntax.Transition] = field(default_factory=list)


def resolve_machine(
    outer: GlobalScope,
    node: syntax.Machine,
    declarations: list[syntax.Declaration],
    index: Index | None = None,
) -> ir.Machine | None:
    """The machine, or None if it has no valid name."""
    name = _machine_name(outer, node)
    if name is None:
        return None
    scope = MachineScope(outer, name, node)
    if index is not None:
        index.machines[name] = scope
    check_keys(node.pairs, scope.sink)
    parts = _sort(scope, declarations)
    declare_types(scope, declarations)
    _check_states_and_events(scope)
    parameters = declare_parameters(scope, node.parameters)
    methods = complete_types(scope)
    functions = declare_functions(scope, parts.functions)
    objects = declare_objects(scope, parts.objects)
    declare_ports(scope, parts.ports)
    declare_actions(scope, parts.actions)
    check_required(scope)
    return _resolve_bodies(scope, parts, parameters, objects, functions, methods)


def _resolve_bodies(
    scope: MachineScope,
    parts: _Sorted,
    parameters: tuple[ir.MachineParameter, ...],
    objects: tuple[ir.Object, ...],
    functions: list[FunctionSymbol],
    methods: list[FunctionSymbol],
) -> ir.Machine:
    own = tuple([function_body(scope, symbol) for symbol in functions])
    resolved_methods = [function_body(scope, symbol) for symbol in methods]
    in_ports, out_ports = _ports(scope, parts)
    actions = resolve_actions(scope)
    resolved = callees_first((*stub_functions(scope), *own))
    counter = NeedCounter(scope, resolved)
    needs: dict[str, Needs] = {action.ref.name: counter.of(action.body) for action in actions}
    actions = tuple([replace(a, needs=slot_needs(needs[a.ref.name])) for a in actions])
    written = resolve_transitions(scope, parts.transitions, needs)
    machine = ir.Machine(
        name=scope.name,
        title=scope.node.pairs.get("short") or scope.name,
        parameters=parameters,
        states=to_enumeration(scope, scope.states, "State"),
        events=to_enumeration(scope, scope.events, "Event"),
        request_types=None
        if scope.request_types is None
        else to_enumeration(scope, scope.request_types, "RequestType"),
        enums=enumerations_of(scope),
        structs=structures_of(scope, resolved_methods),
        tbe=None if scope.tbe is None else ir.TypeRef(scope.name, scope.tbe.name),
        entry=None if scope.entry is None else ir.TypeRef(scope.name, scope.entry.name),
        objects=(*objects, *scope.state_objects),
        functions=resolved,
        in_ports=in_ports,
        out_ports=out_ports,
        actions=actions,
        transitions=tuple([transition for transition, _ in written]),
        cells=cells_of(scope, written),
        machine_type=_lent_type(scope),
        span=scope.node.type.span,
    )
    return with_checks(machine)


def _ports(
    scope: MachineScope, parts: _Sorted
) -> tuple[tuple[ir.InPort, ...], tuple[ir.OutPort, ...]]:
    in_ports: list[ir.InPort] = []
    out_ports: list[ir.OutPort] = []
    count = sum(isinstance(node, syntax.InPort) for node in parts.ports)
    for node in parts.ports:
        port = scope.ports.get(node.name.text)
        if port is None or port.node is not node:
            continue
        buffer = "" if port.buffer is None else port.buffer.name
        if isinstance(node, syntax.OutPort):
            message = port.message
            ref = message.ref if isinstance(message, ir.StructType) else ir.TypeRef(None, "?")
            desc = description(node.pairs)
            out_ports.append(ir.OutPort(port.ref, ref, buffer, desc, span=node.name.span))
            continue
        body = port_body(scope, node)
        in_ports.append(
            ir.InPort(
                port.ref,
                port.message,
                buffer,
                port_rank(scope, node, count),
                body,
                is_guarded(port.ref, body),
                stall_handler(scope, node, "rsc_stall_handler"),
                stall_handler(scope, node, "prot_stall_handler"),
                description(node.pairs),
                span=node.name.span,
            )
        )
    return tuple(in_ports), tuple(out_ports)


# ------------------------------------------------------------------ what a machine may hold


def _lent_type(scope: MachineScope) -> str:
    """The machine type lent to one that the runtime lacks; empty if the runtime has it."""
    types = scope.library.find("MachineType")
    lent = None if types is None else types.further.get(scope.name)
    return lent if isinstance(lent, str) else ""


def _machine_name(outer: GlobalScope, node: syntax.Machine) -> str | None:
    name = node.type.member.text
    types = outer.library.find("MachineType")
    assert types is not None
    known = tuple(types.members)
    if node.type.type.text != "MachineType" or name not in known:
        outer.sink.error(
            "unknown-machine",
            f"there is no machine type `{node.type.type.text}:{name}`",
            node.type.span,
            "not a member of `MachineType`",
            help=lambda: did_you_mean(name, known) or own_members("MachineType", [name]),
        )
        return None
    first = outer.machines.get(name)
    if first is not None:
        outer.sink.declared_twice(
            "duplicate-machine",
            f"the machine `{name}` is declared twice",
            node.type.span,
            first,
        )
        return None
    outer.machines[name] = node.type.span
    return name


def _sort(scope: MachineScope, declarations: list[syntax.Declaration]) -> _Sorted:
    parts = _Sorted()
    for node in declarations:
        match node:
            case syntax.ObjectDeclaration():
                parts.objects.append(node)
            case syntax.Function():
                parts.functions.append(node)
            case syntax.InPort() | syntax.OutPort():
                parts.ports.append(node)
            case syntax.Action():
                parts.actions.append(node)
            case syntax.Transition():
                parts.transitions.append(node)
            case syntax.Machine() | syntax.Protocol():
                _report_nested(scope, node.span)
            case (
                syntax.Enumeration()
                | syntax.StateDeclaration()
                | syntax.Structure()
                | syntax.ExternType()
                | syntax.Include()
            ):
                pass
            case _:
                assert_never(node)
    return parts


def _report_nested(scope: MachineScope, span: Span) -> None:
    scope.sink.error(
        "inside-machine",
        "this declaration cannot stand inside a machine",
        span,
        "inside a machine",
        secondary=[Label(scope.node.type.span, "this machine")],
    )


def _check_states_and_events(scope: MachineScope) -> None:
    name = scope.node.type.span
    if scope.states is None:
        scope.misses.first("type", "State", name)  # its uses are further places of this error
        scope.sink.error(
            "missing-state-declaration",
            f"machine `{scope.name}` declares no states",
            name,
            "needs a `state_declaration(State, …)`",
        )
    if scope.events is None:
        scope.sink.error(
            "missing-event-enumeration",
            f"machine `{scope.name}` declares no events",
            name,
            "needs an `enumeration(Event, …)`",
        )
