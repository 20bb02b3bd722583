"""Functions of a machine: signatures first, so that order of declaration does not matter.

Invariant: a prototype never hides a definition; it only declares that the runtime has the function.
"""

from __future__ import annotations

from slicc import ir, prelude
from slicc.diagnostics.model import Label
from slicc.ir import type_rules
from slicc.parser.limits import OVERLOADS
from slicc.resolve.declarations.prototypes import (
    match_runtime,
    name_overloads,
    prototype,
    report_duplicate_function,
)
from slicc.resolve.scope.pairs import check_keys
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import CallTarget, FunctionSymbol, Overload
from slicc.resolve.scope.uses import NameKind
from slicc.syntax import nodes as syntax


def declare_functions(scope: GlobalScope, nodes: list[syntax.Function]) -> list[FunctionSymbol]:
    """Enter all prototypes and definitions of one scope; definitions are returned in order."""
    definitions: list[FunctionSymbol] = []
    for node in nodes:
        check_keys(node.pairs, scope.sink)
        _report_defaults(scope, node)
        if node.body is None:
            _declare_prototype(scope, node)
        elif not isinstance(scope, MachineScope):
            scope.sink.error(
                "outside-machine",
                f"the function `{node.name.text}` belongs inside a machine or structure",
                node.name.span,
                "has a body, but stands outside",
            )
        else:
            found = _declare_definition(scope, node)
            if found is not None:
                definitions.append(found)
    name_overloads(definitions)
    return definitions


def _report_defaults(scope: GlobalScope, node: syntax.Function) -> None:
    for parameter in node.parameters:
        if parameter.default is not None:
            scope.sink.warning(
                "ignored-default",
                f"the default of a parameter of `{node.name.text}` is never used",
                parameter.default.span,
                "every call passes every argument",
            )


def _declare_prototype(scope: GlobalScope, node: syntax.Function) -> None:
    name = node.name.text
    if name in prelude.STATEMENT_FUNCTIONS:
        return
    declared = prototype(scope, node)
    offered = scope.builtins(name)
    match_runtime(declared, offered)
    if declared.target is CallTarget.MISSING:
        missing = scope.prototypes.setdefault(name, [])
        if len(missing) < OVERLOADS:
            missing.append(declared)
        return
    runtime = next(o for o in offered if o.signature is declared.signature)
    runtime.span = declared.span  # what its calls in this scope lead to
    scope.note(declared.span, declared.span, NameKind.FUNCTION, declared.result)
    if not type_rules.same(runtime.result, declared.result):
        scope.sink.error(
            "wrong-function-signature",
            f"the runtime's `{name}` returns `{type_rules.describe(runtime.result)}`",
            node.name.span,
            f"declared to return `{type_rules.describe(declared.result)}`",
        )


def _declare_definition(scope: MachineScope, node: syntax.Function) -> FunctionSymbol | None:
    declared = prototype(scope, node)
    declared.target = CallTarget.FUNCTION
    declared.function = ir.FunctionRef(scope.name, None, declared.name)
    others = [f.overload for f in scope.functions.get(declared.name, ())]
    if report_duplicate_function(scope, others, declared, f"machine `{scope.name}`"):
        return None
    symbol = FunctionSymbol(declared, node, scope.name)
    scope.functions.setdefault(declared.name, []).append(symbol)
    return symbol


# ------------------------------------------------------------------ what a machine must define


def check_required(scope: MachineScope) -> None:
    """Report missing functions that the controller calls, and ones with another signature."""
    none = ir.EnumType(ir.TypeRef(scope.name, "State"))  # reported; still what to write
    state = none if scope.states is None else scope.states.type
    tbe = [] if scope.tbe is None else [scope.tbe.type]
    entry = [] if scope.entry is None else [scope.entry.type]
    packet = scope.type_text("Packet")
    mask = scope.type_text("WriteMask")
    where: list[ir.Type] = [ir.ADDR]
    _require(scope, "getState", [[*tbe, *entry, *where]], [state])
    _require(scope, "setState", [[*tbe, *entry, *where, state]], [ir.VOID])
    _require(scope, "setAccessPermission", [[*entry, *where, state]], [ir.VOID])
    _require(scope, "getAccessPermission", [where], [type_rules.ACCESS_PERMISSION])
    _require(
        scope,
        "functionalRead",
        [[ir.ADDR, packet], [ir.ADDR, packet, mask]],
        [ir.VOID, ir.BOOL],
    )
    _require(scope, "functionalWrite", [[ir.ADDR, packet]], [ir.INT])
    if scope.functions.get("getNextState"):
        _require(scope, "getNextState", [where], [state])
    if scope.request_types is not None:
        request: list[ir.Type] = [scope.request_types.type, ir.ADDR]
        _require(scope, "checkResourceAvailable", [request], [ir.BOOL])
        _require(scope, "recordRequestType", [request], [ir.VOID])


def _require(
    scope: MachineScope, name: str, shapes: list[list[ir.Type]], results: list[ir.Type]
) -> None:
    overloads = [f.overload for f in scope.functions.get(name, ())]
    if any(_fits(o, shape, results) for o in overloads for shape in shapes):
        return
    shape = ", ".join(map(type_rules.describe, shapes[0]))
    wanted = f"{type_rules.describe(results[0])} {name}({shape})"
    if not overloads:
        scope.sink.error(
            "missing-function",
            f"machine `{scope.name}` does not define `{name}`",
            scope.node.type.span,
            f"needs `{wanted}`",
        )
        return
    first = overloads[0]
    scope.sink.error(
        "wrong-function-signature",
        f"`{name}` of machine `{scope.name}` has the wrong shape",
        first.span,
        f"is `{signature_text(first)}`",
        secondary=[Label(scope.node.type.span, _shape_reason(scope))],
        help=f"define `{wanted}`",
    )


def _fits(overload: Overload, shape: list[ir.Type], results: list[ir.Type]) -> bool:
    return (
        len(overload.parameters) == len(shape)
        and all(type_rules.same(p.type, wanted) for p, wanted in zip(overload.parameters, shape))
        and any(type_rules.same(overload.result, result) for result in results)
    )


def _shape_reason(scope: MachineScope) -> str:
    tbe = "a TBE type" if scope.tbe is not None else "no TBE type"
    entry = f"the entry type `{scope.entry.name}`" if scope.entry is not None else "no entry type"
    return f"this machine has {tbe} and {entry}"


def signature_text(overload: Overload) -> str:
    """An overload as an author would write it."""
    parameters = ", ".join(type_rules.describe(p.type) for p in overload.parameters)
    return f"{type_rules.describe(overload.result)} {overload.name}({parameters})"
