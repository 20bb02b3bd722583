"""Programs of the tests."""

from __future__ import annotations

from gpu.memory_model.program import Guard, Load, Order, Place, Program, Store, Thread
from gpu.memory_model.scopes import Position, Scope

X, F = Place("x"), Place("f")
ELSEWHERE = Position("gpu", 1)


def message_passing(
    release: Order, acquire: Order, scope: Scope, reader: Position = ELSEWHERE
) -> Program:
    """Data behind a flag; the reader looks at the data if it sees the flag."""
    return Program(
        (
            Thread("P0", Position("gpu", 0), (Store(X, 1), Store(F, 1, release, scope))),
            Thread(
                "P1", reader, (Load(F, "r0", acquire, scope), Load(X, "r1", when=Guard("r0", 1)))
            ),
        )
    )
