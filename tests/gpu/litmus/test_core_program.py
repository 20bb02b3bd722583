"""The accesses of a core that a thread of a processor becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu.host.processors.actions import Access, Atomic, Load, Sleep, Store
from gpu.litmus.core_program import core_program
from gpu.litmus.situation import situation
from gpu.memory_model import program as model
from gpu.memory_model.program import Fence, Guard, Operation, Order, Place, Rmw, Thread
from gpu.memory_model.scopes import Position
from runtime.types.atomic_op import AtomicKind

ON_THE_GPU = Thread("P1", Position(), ())
X, Y, WIDE = Place("x"), Place("y", 4), Place("wide", 0, 8)
MEMORY, START, NOW = 0x1000, 5000, 100


def carried_out(
    operations: Sequence[Operation], values: dict[str, int], instances: int = 1
) -> tuple[list[list[Access]], list[dict[str, int]]]:
    """What a thread asks for, without sleeps in between, and its registers by instance.
    ``values``: what loads and atomic operations find, by name."""
    thread = Thread("P0", Position("cpu", 0), tuple(operations))
    drawn = situation(model.Program((thread, ON_THE_GPU)), 1, 1, {}, instances)
    drawn = replace(drawn, sleeps={"P0": (0,) * len(operations)}, warm={"P0": {"y": 1}})
    names = {
        MEMORY + offset + drawn.apart * number: name
        for name, offset in drawn.offsets.items()
        for number in range(instances)
    }
    assert len(names) == instances * len(drawn.offsets)
    core = core_program(thread, drawn, MEMORY, START, lambda: NOW)
    assert next(core) == [Load(MEMORY + drawn.offsets["y"])]
    assert core.send(0) == Sleep(START - NOW + drawn.starts["P0"])
    rounds: list[list[Access]] = []
    answer: object = None
    while True:
        try:
            action = core.send(answer)
        except StopIteration as end:
            return rounds, end.value
        assert isinstance(action, list)
        rounds.append(action)
        found = [values.get(names[each.address & -64]) for each in action]
        answer = [
            None if isinstance(each, Store) else value
            for each, value in zip(action, found, strict=True)
        ]


def kinds(rounds: list[list[Access]]) -> list[list[type]]:
    return [[type(access) for access in accesses] for accesses in rounds]


def test_a_load_passes_a_store_in_the_store_buffer() -> None:
    load = model.Load(Y, "r0", Order.acquire)
    made, registers = carried_out([model.Store(X, 1, Order.release), load], {"y": 7})
    assert kinds(made) == [[Store, Load]] and registers == [{"r0": 7}]
    for first in (
        model.Store(X, 1, Order.seq_cst),
        model.Store(Place("y"), 1),
        Rmw(X, AtomicKind.ADD, 1, order=Order.acq_rel),
        model.Load(X, "r1"),
    ):
        made, _ = carried_out([first, load], {"x": 3, "y": 7})
        assert [len(accesses) for accesses in made] == [1, 1]
    made, _ = carried_out([model.Store(X, 1), Fence(Order.seq_cst), load], {"y": 7})
    assert kinds(made) == [[Store], [], [Load]]


def test_guards_and_registers() -> None:
    operations = [
        model.Load(WIDE, "r0"),
        model.Store(X, "r0"),
        model.Load(X, "r1", when=Guard("r0", 5)),
        Rmw(Y, AtomicKind.CAS, 9, 2, "r2", when=Guard("r1", 0)),
    ]
    wide = (3 << 32) + 1
    made, registers = carried_out(operations, {"wide": wide, "x": 8, "y": 2})
    assert kinds(made) == [[Load], [Store], [], [Atomic]]
    load, store, cas = made[0][0], made[1][0], made[3][0]
    assert load.size == 8
    assert isinstance(store, Store) and (store.value, store.size) == (1, 4)
    assert isinstance(cas, Atomic) and (cas.operand, cas.compare) == (9, 2)
    assert registers == [{"r0": wide, "r1": 0, "r2": 2}]


def test_instances_are_made_at_once_each_in_its_order() -> None:
    operations = [model.Load(X, "r0"), model.Store(Y, 1, when=Guard("r0", 3))]
    made, registers = carried_out(operations, {"x": 3}, 8)
    assert kinds(made) == [[Load] * 8, [Store] * 8] and registers == [{"r0": 3}] * 8
    loads, stores = ([access.address for access in accesses] for accesses in made)
    assert len({*loads, *stores}) == 16
    assert len({store - load for load, store in zip(loads, stores, strict=True)}) == 1
    made, _ = carried_out([model.Store(X, 1), model.Load(Y, "r0")], {"y": 7}, 8)
    assert kinds(made) == [[Store, Load] * 8]
