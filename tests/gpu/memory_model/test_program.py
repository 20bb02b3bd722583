"""Programs that cannot be are refused when they are made."""

from __future__ import annotations

import pytest

from gpu.memory_model.program import (
    Fence,
    Guard,
    Load,
    Operation,
    Order,
    Place,
    Program,
    ProgramError,
    Rmw,
    Space,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position

X = Place("x")


def one(*operations: Operation) -> Program:
    return Program((Thread("P0", Position(), operations),))


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ([Load(X, "r0", Order.release)], "operation 1 of P0: a load cannot be release"),
        ([Store(X, 1, Order.acquire)], "a store cannot be acquire"),
        ([Rmw(X, 0, 1, order=Order.non_atomic)], "a rmw cannot be non-atomic"),
        ([Rmw(Place("x", size=2), 0, 1)], "no atomic operation 0 of that size"),
        ([Rmw(X, 13, 1)], "no atomic operation 13"),
        ([Fence(Order.relaxed)], "a fence orders nothing: relaxed"),
        ([Store(X, 1 << 32)], "0x100000000 does not fit 4 unsigned bytes"),
        ([Store(X, -1)], "does not fit"),
        ([Store(X, "r0")], "register r0 is not set before"),
        ([Load(X, "r0", when=Guard("r0", 1))], "register r0 is not set before"),
        ([Load(X, "r0"), Load(X, "r0")], "operation 2 of P0: register r0 is set already"),
        ([Load(Place("x", 2))], "x+2 (4 bytes): an access has 1, 2, 4 or 8 bytes"),
        ([Load(Place("x", size=3))], "3 bytes"),
        ([Load(X), Load(Place("x", space=Space.local))], "x is in two address spaces"),
        ([Load(X)] * 65, "65 operations; at most 64"),
    ],
)
def test_refused(operations: list[Operation], why: str) -> None:
    with pytest.raises(ProgramError) as error:
        one(*operations)
    assert why in str(error.value)


def test_threads_differ() -> None:
    thread = Thread("P0", Position(), (Load(X),))
    with pytest.raises(ProgramError, match="same name"):
        Program((thread, Thread("P0", Position(group=1), ())))
    with pytest.raises(ProgramError, match="same position"):
        Program((thread, Thread("P1", Position(), ())))
    with pytest.raises(ProgramError, match="1 to 16 threads, not 0"):
        Program(())


def test_local_memory_at_the_end_is_of_one_group() -> None:
    place = Place("x", space=Space.local)
    threads = tuple(Thread(f"P{n}", Position(group=n), (Load(place),)) for n in range(2))
    assert Program(threads).terms == ()
    with pytest.raises(ProgramError, match="local memory of several work-groups"):
        Program(threads, observed=(place,))
    with pytest.raises(ProgramError, match="a processor has no local memory"):
        Program((Thread("P0", Position("cpu"), (Load(place),)),))


def test_terms_are_spelt_as_conditions_spell_them() -> None:
    program = Program(
        (Thread("P0", Position(), (Load(X, "r0"), Load(Place("x", 4), "r1"))),),
        observed=(X, Place("x", 4)),
    )
    assert program.terms == ("P0:r0", "P0:r1", "x", "x+4")
