"""Code that cannot run and values that are never read.

Invariant: each body is checked by itself, independent of other bodies.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.enum_uses import bodies_of
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir.walk import expressions_in, inner_blocks, statements_in
from slicc.resolve.bodies.statements import falls_through


def check_flow(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Unreachable statements and unused variables of every body."""
    for body in bodies_of(machine):
        _unreachable(body, sink)
        _unused(body, sink)


def _unreachable(body: tuple[ir.Stmt, ...], sink: DiagnosticSink) -> None:
    for position, statement in enumerate(body):
        for inner in inner_blocks(statement):
            _unreachable(inner, sink)
        if position + 1 < len(body) and not falls_through((statement,)):
            if isinstance(body[position + 1], ir.Return) and not isinstance(statement, ir.Return):
                return  # custom: `error("…"); return …;`
            sink.warning(
                "unreachable-code",
                "this statement is never run",
                body[position + 1].span,
                "what stands before it always ends the function",
            )
            return


def _unused(body: tuple[ir.Stmt, ...], sink: DiagnosticSink) -> None:
    read = {node.name for node in expressions_in(body) if isinstance(node, ir.Local)}
    for statement in statements_in(body):
        if isinstance(statement, ir.Declare) and statement.name not in read:
            sink.warning(
                "unused-variable",
                f"the variable `{statement.name}` is never used",
                statement.span,
                "never used",
            )
