"""Signatures as authors write them, matched with what the runtime offers.

Invariant: a prototype without a match stays ``MISSING``, which is an error only once it is called.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.ir import type_rules
from slicc.parser.limits import OVERLOADS
from slicc.resolve.scope.scopes import GlobalScope
from slicc.resolve.scope.symbols import CallTarget, FunctionSymbol, Overload, ParameterSymbol
from slicc.syntax import nodes as syntax


def prototype(scope: GlobalScope, node: syntax.Function) -> Overload:
    """A prototype as written; :func:`match_runtime` checks whether the runtime has it."""
    if node.body is None:
        named = [parameter.name for parameter in node.parameters if parameter.name is not None]
        for position, name in enumerate(named):
            if name.text in {other.text for other in named[:position]}:
                report_repeated_parameter(scope.sink, f"function `{node.name.text}`", name)
    result = ir.VOID if node.result is None else scope.resolve_type(node.result)
    return Overload(
        node.name.text,
        tuple(
            ParameterSymbol(scope.resolve_type(p.type), by_reference=p.mode == "reference")
            for p in node.parameters
        ),
        result,
        CallTarget.MISSING,
        node.name.span,
        # A pointer is one already: older directories return their entries "by reference".
        by_reference="return_by_ref" in node.pairs and not type_rules.is_pointer(result),
        node=node,
    )


def report_repeated_parameter(sink: DiagnosticSink, title: str, name: syntax.Name) -> None:
    """A function with that title has two parameters of one name; one with a body finds it as it
    declares its variables."""
    sink.error(
        "duplicate-parameter",
        f"{title} has the parameter `{name.text}` twice",
        name.span,
        "declared again",
    )


def match_runtime(declared: Overload, offered: list[Overload]) -> None:
    """Give a prototype the runtime's overload with the same parameters, if there is one."""
    for candidate in offered:
        if len(candidate.parameters) == len(declared.parameters) and all(
            type_rules.same(ours.type, theirs.type)
            for ours, theirs in zip(declared.parameters, candidate.parameters)
        ):
            declared.target = candidate.target
            declared.signature = candidate.signature
            declared.owner = candidate.owner
            declared.home = candidate.home
            declared.by_reference = candidate.by_reference
            declared.parameters = tuple(
                ParameterSymbol(ours.type, ours.by_reference, theirs.mutated, theirs.dropped)
                for ours, theirs in zip(declared.parameters, candidate.parameters)
            )
            return


def report_duplicate_function(
    scope: GlobalScope,
    others: list[Overload],
    declared: Overload,
    where: str,
    slug: str = "duplicate-function",
) -> bool:
    """Report a second body for one signature, and one more body than a name may have."""
    if len(others) >= OVERLOADS:
        scope.sink.error(
            "too-many-overloads",
            f"{where} defines `{declared.name}` more than {OVERLOADS} times",
            declared.span,
            "one too many",
            secondary=[Label(others[0].span, "first defined here")],
        )
        return True
    for other in others:
        if other.function is not None and [p.type for p in other.parameters] == [
            p.type for p in declared.parameters
        ]:
            scope.sink.error(
                slug,
                f"{where} defines `{declared.name}` twice for the same parameters",
                declared.span,
                "defined again",
                secondary=[Label(other.span, "first defined here")],
            )
            return True
    return False


def name_overloads(functions: list[FunctionSymbol]) -> None:
    """Give overloads unique names that carry their parameter types."""
    by_name: dict[str, list[FunctionSymbol]] = {}
    for function in functions:
        by_name.setdefault(function.overload.name, []).append(function)
    for name, overloads in by_name.items():
        if len(overloads) == 1:
            continue
        for function in overloads:
            suffix = "_".join(
                type_rules.describe(p.type).replace("::", "_") for p in function.overload.parameters
            )
            ref = function.ref
            function.overload.function = ir.FunctionRef(
                ref.machine, ref.owner, f"{name}_{suffix}" if suffix else name
            )
