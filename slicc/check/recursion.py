"""Functions that call themselves, directly or in a circle.

Every function must have a bound on what it sends, so that a controller can ask for free slots
before a transition starts. Invariant: each cycle is reported once, at its first function.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.resolve.ordering import call_graph, walk_calls


def check_recursion(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Report every cycle of calls with its path."""
    functions = {function.ref: function for function in machine.functions}
    _, cycles = walk_calls(call_graph(machine.functions))
    for cycle in cycles:
        _report(machine, [functions[ref] for ref in cycle], sink)


def _report(machine: ir.Machine, cycle: list[ir.Function], sink: DiagnosticSink) -> None:
    first = min(range(len(cycle)), key=lambda index: cycle[index].span.start)
    cycle = cycle[first:] + cycle[:first]
    names = [function.written_name for function in cycle]
    if len(cycle) == 1:
        headline = f"the function `{names[0]}` of machine `{machine.name}` calls itself"
    else:
        way = " → ".join(f"`{name}`" for name in [*names, names[0]])
        headline = f"functions of machine `{machine.name}` call each other in a circle: {way}"
    sink.error(
        "recursive-function",
        headline,
        cycle[0].span,
        "part of the circle",
        secondary=[Label(function.span, "and this one") for function in cycle[1:]],
        notes=["a call must have a bound on what it sends, so recursion is not possible"],
    )
