"""Litmus tests in a line each, and what sequential consistency lets them end with.

    W x 1 ; W y 1 | R y r0 ; R x r1        # threads by |, operations by ;

``U x 1 r0`` adds 1, ``F`` is a fence, ``R.l x r0`` reads local memory. The shapes and their names
are those of the literature; the weak outcome of each is the one that sequential consistency lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpu.memory_model.program import (
    Fence,
    Load,
    Operation,
    Order,
    Outcome,
    Place,
    Program,
    Rmw,
    Space,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position, Scope
from runtime.types.atomic_op import AtomicKind, AtomicOp

GROUPS = tuple(Position("gpu", group) for group in range(4))
"""Each thread in a work-group of its own."""
WAVES = tuple(Position("gpu", 0, wave) for wave in range(4))
LANES = tuple(Position("gpu", 0, 0, lane) for lane in range(4))
CORES = tuple(Position("cpu", core) for core in range(4))


@dataclass(frozen=True)
class Shape:
    """``weak``: the outcome in question, by the terms of the program."""

    text: str
    observed: str
    weak: Outcome

    def program(
        self,
        writes: Order,
        reads: Order,
        scope: Scope = Scope.agent,
        positions: Sequence[Position] = GROUPS,
    ) -> Program:
        """With an order for all writes and one for all reads."""
        threads = tuple(
            Thread(f"P{n}", positions[n], tuple(_operations(part, writes, reads, scope)))
            for n, part in enumerate(self.text.split("|"))
        )
        return Program(threads, observed=tuple(Place(name) for name in self.observed))


def _operations(text: str, writes: Order, reads: Order, scope: Scope) -> Iterator[Operation]:
    for each in text.split(";"):
        kind, *rest = each.split()
        kind, _, local = kind.partition(".")
        if kind == "F":
            yield Fence(writes, scope)
            continue
        place = Place(rest[0], space=Space.local if local else Space.global_)
        value = int(rest[1]) if rest[1].isdigit() else rest[1]
        if kind == "R":
            yield Load(place, rest[1], reads, scope)
        elif kind == "W":
            yield Store(place, value, writes, scope)
        else:
            order = Order.acq_rel if reads is Order.acquire else reads
            yield Rmw(place, AtomicKind.ADD, value, register=rest[2], order=order, scope=scope)


SHAPES = {
    "MP": Shape("W x 1 ; W y 1 | R y r0 ; R x r1", "", (1, 0)),
    "SB": Shape("W x 1 ; R y r0 | W y 1 ; R x r1", "", (0, 0)),
    "LB": Shape("R x r0 ; W y 1 | R y r1 ; W x 1", "", (1, 1)),
    "CoRR": Shape("W x 1 | R x r0 ; R x r1", "", (1, 0)),
    "CoWW": Shape("W x 1 ; W x 2", "x", (1,)),
    "CoRW": Shape("R x r0 ; W x 1 | W x 2", "x", (2, 2)),
    "CoWR": Shape("W x 1 ; R x r0 | W x 2", "x", (2, 1)),
    "IRIW": Shape("W x 1 | W y 1 | R x r0 ; R y r1 | R y r2 ; R x r3", "", (1, 0, 1, 0)),
    "WRC": Shape("W x 1 | R x r0 ; W y 1 | R y r1 ; R x r2", "", (1, 1, 0)),
    "RWC": Shape("W x 1 | R x r0 ; R y r1 | W y 1 ; R x r2", "", (1, 0, 0)),
    "2+2W": Shape("W x 1 ; W y 2 | W y 1 ; W x 2", "xy", (1, 1)),
    "S": Shape("W x 2 ; W y 1 | R y r0 ; W x 1", "x", (1, 2)),
    "R": Shape("W x 1 ; W y 1 | W y 2 ; R x r0", "y", (0, 2)),
    "ISA2": Shape("W x 1 ; W y 1 | R y r0 ; W z 1 | R z r1 ; R x r2", "", (1, 1, 0)),
}


def moved(program: Program, positions: Sequence[Position]) -> Program:
    """The same with its threads elsewhere."""
    threads = tuple(replace(t, position=positions[n]) for n, t in enumerate(program.threads))
    return replace(program, threads=threads)


def interleavings(program: Program) -> set[Outcome]:
    """All outcomes of one memory and one operation at a time, by running every interleaving.

    Knows nothing of the model: no relations, no scopes, no orders. Places do not overlap.
    """
    found: set[Outcome] = set()
    initial = {place.name: value for place, value in program.initial.items()}

    def run(counters: tuple[int, ...], memory: dict[str, int], registers: dict[str, int]) -> None:
        ended = True
        for number, thread in enumerate(program.threads):
            if counters[number] == len(thread.operations):
                continue
            ended = False
            after, known = dict(memory), dict(registers)
            _step(thread, thread.operations[counters[number]], after, known)
            run((*counters[:number], counters[number] + 1, *counters[number + 1 :]), after, known)
        if ended:
            values = {**{str(place): memory.get(str(place), 0) for place in program.observed}}
            found.add(tuple(values.get(t, registers.get(t, 0)) for t in program.terms))

    run((0,) * len(program.threads), initial, {})
    return found


def _step(
    thread: Thread, operation: Operation, memory: dict[str, int], registers: dict[str, int]
) -> None:
    if isinstance(operation, Fence):
        return
    guard, name = operation.when, operation.place.name
    if operation.place.space is Space.local:
        name = f"{name} of {thread.position.agent} {thread.position.group}"
    if guard is not None and registers.get(f"{thread.name}:{guard.register}", 0) != guard.value:
        return
    old = memory.get(name, 0)
    if isinstance(operation, Load | Rmw) and operation.register is not None:
        registers[f"{thread.name}:{operation.register}"] = old
    if isinstance(operation, Load):
        return
    value = operation.value if isinstance(operation, Store) else operation.operand
    number = value if isinstance(value, int) else registers.get(f"{thread.name}:{value}", 0)
    if isinstance(operation, Rmw):
        number = AtomicOp(operation.kind, number, 4, operation.compare).apply(old)
    memory[name] = number
