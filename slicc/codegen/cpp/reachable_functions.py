"""The functions of a machine that the native engine can run.

Functional accesses and functions that only they call are left out: the native engine has none.
Invariant: callees come before their callers, so that the effects of a call are known when it is
written.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir
from slicc.codegen.body_analysis import walk
from slicc.resolve.call_order import Visit, depth_first

PREFETCH = "enqueuePrefetch"
"""The function that a prefetcher calls for lines to prefetch."""
INVALIDATE = "invalidateEntry"
"""The method of an entry that the runtime calls when a transaction is aborted."""


def functions_of(machine: ir.Machine, structs: Iterable[ir.Struct]) -> list[ir.Function]:
    """Functions and methods that ports, transitions and the runtime reach, callees first."""
    known = {each.ref: each for each in machine.functions}
    known |= {method.ref: method for struct in structs for method in struct.methods}
    invalidated = [
        method.ref
        for struct in structs
        for method in struct.methods
        if struct.kind is ir.StructKind.ENTRY and method.written_name == INVALIDATE
    ]
    runtime = ir.FunctionRef(machine.name, None, "")  # calls the entry points
    graph: dict[ir.FunctionRef, dict[ir.FunctionRef, None]] = {runtime: {}}

    def arrow(caller: ir.FunctionRef, callee: ir.FunctionRef) -> None:
        graph.setdefault(caller, {})[callee] = None
        graph.setdefault(callee, {})

    def arrows(caller: ir.FunctionRef, body: tuple[ir.Stmt, ...]) -> None:
        for node in walk(_run(body)):
            match node:
                case ir.CallFunction(function=ref) | ir.CallStructMethod(function=ref):
                    arrow(caller, ref)
                case ir.CallMethod(method="htmAbortTransaction"):
                    for ref in invalidated:
                        arrow(caller, ref)
                case _:
                    pass

    for name in _roots(machine):
        function = by_name(machine, name)
        if function is not None:
            arrow(runtime, function.ref)
    for port in machine.in_ports:
        for handler in (port.resource_stall_handler, port.protocol_stall_handler):
            if handler is not None:
                arrow(runtime, handler)
        arrows(runtime, port.body)
    for action in actions_of(machine):
        arrows(runtime, action.body)
    for ref, function in known.items():
        arrows(ref, function.body)
    left = [ref for visit, ref in depth_first(graph) if visit is Visit.LEFT]
    assert len(set(left)) == len(left), "each function is left once"
    reached = left[: left.index(runtime)]  # the search begins with the runtime's calls
    return [known[ref] for ref in reached if ref in known]


def _run(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements without traces and comments."""
    made: list[ir.Stmt] = []
    for statement in body:
        match statement:
            case ir.Trace() | ir.TransitionComment():
                continue
            case ir.If():
                made.append(
                    ir.If(
                        statement.condition,
                        _run(statement.then),
                        _run(statement.orelse),
                        span=statement.span,
                    )
                )
            case ir.Peek() | ir.Enqueue():
                made += [statement] if isinstance(statement, ir.Enqueue) else _run(statement.body)
            case _:
                made.append(statement)
    return tuple(made)


def _roots(machine: ir.Machine) -> list[str]:
    """Functions that the runtime calls by the author's name."""
    used = [machine.transitions[cell.transition] for cell in machine.cells]
    names = ["getState", "setState", "setAccessPermission", "mandatoryQueueLatency"]
    if any(each.next.kind is ir.NextKind.COMPUTED for each in used):
        names.append("getNextState")
    if any(
        isinstance(each.type, ir.ClassType) and each.type.name == "RubyPrefetcher"
        for each in machine.parameters
    ):
        names.append(PREFETCH)
    if any(each.request_types for each in used):
        names += ["checkResourceAvailable", "recordRequestType"]
    return names


def by_name(machine: ir.Machine, name: str) -> ir.Function | None:
    """The function of the machine with that written name; the first of several."""
    return next(
        (each for each in machine.functions if each.written_name == name and not each.ref.owner),
        None,
    )


def actions_of(machine: ir.Machine) -> list[ir.Action]:
    """Actions that some transition runs, in the order of their declaration."""
    used = {
        ref
        for cell in machine.cells
        for ref in machine.transitions[cell.transition].actions
        if not machine.transitions[cell.transition].stalls
    }
    return [each for each in machine.actions if each.ref in used]
