"""Overload resolution: exact types first, then a super-type named in the argument's declaration.

Invariant: no value is converted silently; a call that fits no overload is reported with all.
"""

from __future__ import annotations

from collections.abc import Sequence

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir import type_rules
from slicc.resolve.bodies.suggestions import suggest_conversion
from slicc.resolve.declarations.functions import signature_text
from slicc.resolve.scope.scopes import GlobalScope, is_interface_of
from slicc.resolve.scope.symbols import Overload
from slicc.source import Span


def choose(
    scope: GlobalScope, overloads: Sequence[Overload], arguments: Sequence[ir.Expr]
) -> Overload | None:
    """The overload that takes these arguments, or None."""
    count = len(arguments)
    fitting = [o for o in overloads if len(o.parameters) == count]
    for overload in fitting:
        for parameter, argument in zip(overload.parameters, arguments):
            if not type_rules.same(parameter.type, argument.type):
                break
        else:
            return overload
    for overload in fitting:
        for parameter, argument in zip(overload.parameters, arguments):
            if not type_rules.same(parameter.type, argument.type) and not is_interface_of(
                parameter.type, argument.type, scope
            ):
                break
        else:
            return overload
    return None


def report_no_match(
    sink: DiagnosticSink,
    what: str,
    span: Span,
    overloads: Sequence[Overload],
    arguments: Sequence[ir.Expr],
) -> None:
    """Report why no overload takes the arguments: the count, one argument, or all together."""
    distinct = {tuple(p.type for p in o.parameters): o for o in overloads}
    candidates = list(distinct.values())
    notes = [f"there is `{signature_text(candidate)}`" for candidate in candidates[:8]]
    fitting = [o for o in candidates if len(o.parameters) == len(arguments)]
    if not fitting:
        counts = sorted({len(o.parameters) for o in candidates})
        wanted = " or ".join(str(count) for count in counts)
        plural = "argument" if counts == [1] else "arguments"
        sink.error(
            "wrong-argument-count",
            f"{what} takes {wanted} {plural}, not {len(arguments)}",
            span,
            f"{len(arguments)} given",
            notes=notes,
        )
        return
    if len(fitting) == 1:
        for position, (parameter, argument) in enumerate(
            zip(fitting[0].parameters, arguments), start=1
        ):
            if not type_rules.same(parameter.type, argument.type):
                sink.error(
                    "type-mismatch-argument",
                    f"argument {position} of {what} is of type "
                    f"`{type_rules.describe(parameter.type)}`",
                    argument.span,
                    f"is `{type_rules.describe(argument.type)}`",
                    notes=notes,
                    help=suggest_conversion(argument, parameter.type),
                )
                return
    given = ", ".join(type_rules.describe(argument.type) for argument in arguments)
    sink.error(
        "type-mismatch-argument",
        f"no overload of {what} takes ({given})",
        span,
        "fits none of them",
        notes=notes,
    )
