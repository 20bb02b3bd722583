"""Functions that call themselves and structures that contain themselves, directly or in a circle.

Every function must have a bound on what it sends, so that a controller can ask for free slots
before a transition starts; a value that contains one of its own type has no size. Invariant: each
circle is reported once, at the member that is declared first; of very many, only the first ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from slicc import ir
from slicc.diagnostics.model import PLACES_SHOWN, SHOWN_PER_FILE, DiagnosticSink, Label
from slicc.resolve.call_order import Graph, Visit, call_graph, depth_first

K = TypeVar("K", bound=Hashable)


def check_recursion(
    structs: Iterable[ir.Struct], functions: Iterable[ir.Function], where: str, sink: DiagnosticSink
) -> None:
    """Report every circle of calls or of containment with its path.

    ``where`` ends the headlines (``of machine `L1Cache```).
    """
    listed = [*functions, *(method for struct in structs for method in struct.methods)]
    by_ref = {function.ref: function for function in listed}
    for circle in islice(_circles(call_graph(listed)), SHOWN_PER_FILE):
        _report_calls([by_ref[ref] for ref in circle], where, sink)
    by_type = {struct.ref: struct for struct in structs}
    for contained in islice(_circles(_containment(by_type)), SHOWN_PER_FILE):
        _report_structures([by_type[ref] for ref in contained], sink)


def _circles(graph: Graph[K]) -> Iterator[list[K]]:
    """One for every back edge of a depth-first search."""
    path: list[K] = []
    places: dict[K, int] = {}
    for visit, node in depth_first(graph):
        if visit is Visit.ENTERED:
            places[node] = len(path)
            path.append(node)
        elif visit is Visit.LEFT:
            del places[path.pop()]
        elif node in places:
            yield path[places[node] :]


def _containment(structs: dict[ir.TypeRef, ir.Struct]) -> dict[ir.TypeRef, list[ir.TypeRef]]:
    """Which structures each one holds by value; entries and TBEs are held by pointer."""
    return {ref: list(dict.fromkeys(_held(struct, structs))) for ref, struct in structs.items()}


def _held(struct: ir.Struct, structs: dict[ir.TypeRef, ir.Struct]) -> Iterator[ir.TypeRef]:
    for field in struct.fields:
        if isinstance(field.type, ir.StructType) and field.type.ref in structs:
            yield field.type.ref


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
        secondary=(Label(function.span, "and this one") for function in circle[1:]),
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
        secondary=(Label(struct.span, "and this one") for struct in circle[1:]),
    )


def _way(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[:PLACES_SHOWN]]
    left_out = ["…"] if len(names) > PLACES_SHOWN else []
    return " → ".join([*shown, *left_out, shown[0]])
