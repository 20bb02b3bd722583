"""Constructor arguments and element types of the objects of a machine's body.

Invariant: generated code can build every object that passes.
"""

from __future__ import annotations

from slicc import ir, prelude
from slicc.ir import type_rules
from slicc.resolve.declarations.pair_expressions import read_arguments
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.syntax import nodes as syntax


def constructor_arguments(
    scope: MachineScope, node: syntax.ObjectDeclaration, type_: ir.ClassType
) -> tuple[ir.Expr, ...]:
    """The arguments of ``constructor=``, checked against the runtime's class."""
    pair = node.pairs.find_any("constructor", "constructor_hack")
    arguments = () if pair is None else read_arguments(scope, pair)
    row = prelude.CLASSES.get(type_.name)
    if arguments is None:
        return ()
    if row is None:
        return arguments
    if row.constructor is None:
        scope.sink.error(
            "unsupported-feature",
            f"a machine cannot build a `{type_.name}` itself: its size is the system's to choose",
            node.type.span,
            "only a parameter can be one",
            help=f"write `{type_.name} * {node.name.text};` between `machine(…) :` and `{{`",
        )
    elif len(arguments) != len(row.constructor):
        _report_count(scope, node, pair, row.constructor, len(arguments))
    else:
        for position, (argument, wanted) in enumerate(zip(arguments, row.constructor), start=1):
            if wanted == "int" and not type_rules.is_integer(argument.type):
                assert pair is not None
                scope.sink.error(
                    "type-mismatch-argument",
                    f"argument {position} of the constructor of `{type_.name}` is a number",
                    pair.value_span,
                    f"is `{type_rules.describe(argument.type)}`",
                )
    return arguments


def _report_count(
    scope: MachineScope,
    node: syntax.ObjectDeclaration,
    pair: syntax.Pair | None,
    wanted: tuple[str, ...],
    count: int,
) -> None:
    name = node.type.text
    if pair is None:
        sized = wanted == ("int",)
        scope.sink.error(
            "missing-pair",
            f"`{node.name.text}`: nothing says {'how large' if sized else 'of what'} this `{name}` "
            + ("is" if sized else "is made"),
            node.name.span,
            "needs `constructor`",
            help='add `constructor="m_number_of_TBEs"`' if sized else None,
        )
        return
    plural = "argument" if len(wanted) == 1 else "arguments"
    scope.sink.error(
        "wrong-argument-count",
        f"the constructor of `{name}` takes {len(wanted)} {plural}, not {count}",
        pair.value_span,
        f"{count} given",
    )


def check_element(scope: GlobalScope, node: syntax.ObjectDeclaration, type_: ir.Type) -> ir.Type:
    """``type_``, or UNKNOWN after reporting that the table has no element type."""
    if not isinstance(type_, ir.ClassType) or type_.element is not None:
        return type_
    row = prelude.CLASSES.get(type_.name)
    if row is None or not row.template or node.pairs.find_any("template", "template_hack"):
        return type_
    prefix = "" if scope.machine is None else f"{scope.machine}_"
    scope.sink.error(
        "missing-pair",
        f"`{node.name.text}`: nothing says what this `{type_.name}` holds",
        node.name.span,
        "needs `template`",
        help=f'add `template="<{prefix}TBE>"`, or the type that it holds',
    )
    return ir.UNKNOWN
