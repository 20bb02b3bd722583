"""Functions that call themselves and structures that contain themselves, directly or in a circle.

Every function must have a bound on what it sends, so that a controller can ask for free slots
before a transition starts; a value that contains one of its own kind has no size. Invariant: each
circle is reported once, at the member that is declared first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.resolve.call_order import call_graph, walk


def check_recursion(
    structs: Iterable[ir.Struct], functions: Iterable[ir.Function], where: str, sink: DiagnosticSink
) -> None:
    """Report every circle of calls or of containment with its path.

    ``where`` ends the headlines (``of machine `L1Cache```).
    """
    listed = [*functions, *(method for struct in structs for method in struct.methods)]
    by_ref = {function.ref: function for function in listed}
    for circle in walk(call_graph(listed))[1]:
        _report_calls([by_ref[ref] for ref in circle], where, sink)
    by_type = {struct.ref: struct for struct in structs}
    for contained in walk(_containment(by_type))[1]:
        _report_structures([by_type[ref] for ref in contained], sink)


def _containment(structs: dict[ir.TypeRef, ir.Struct]) -> dict[ir.TypeRef, list[ir.TypeRef]]:
    """Which of these each one holds by value; entries and TBEs are held by pointer."""
    graph: dict[ir.TypeRef, list[ir.TypeRef]] = {}
    for ref, struct in structs.items():
        held = [field.type.ref for field in struct.fields if isinstance(field.type, ir.StructType)]
        graph[ref] = [other for other in dict.fromkeys(held) if other in structs]
    return graph


def _report_calls(circle: list[ir.Function], where: str, sink: DiagnosticSink) -> None:
    first = min(range(len(circle)), key=lambda index: circle[index].span.start)
    circle = circle[first:] + circle[:first]
    names = [function.written_name for function in circle]
    if len(circle) == 1:
        headline = f"the function `{names[0]}`{where} calls itself"
    else:
        headline = f"functions{where} call each other in a circle: {_way(names)}"
    sink.error(
        "recursive-function",
        headline,
        circle[0].span,
        "part of the circle",
        secondary=[Label(function.span, "and this one") for function in circle[1:]],
        notes=["a call must have a bound on what it sends, so recursion is not possible"],
    )


def _report_structures(circle: list[ir.Struct], sink: DiagnosticSink) -> None:
    first = min(range(len(circle)), key=lambda index: circle[index].span.start)
    circle = circle[first:] + circle[:first]
    names = [struct.ref.name for struct in circle]
    if len(circle) == 1:
        headline = f"the structure `{names[0]}` contains itself"
    else:
        headline = f"structures contain each other in a circle: {_way(names)}"
    sink.error(
        "recursive-structure",
        headline,
        circle[0].span,
        "has no end",
        secondary=[Label(struct.span, "and this one") for struct in circle[1:]],
    )


def _way(names: Sequence[str]) -> str:
    return " → ".join(f"`{name}`" for name in [*names, names[0]])
