"""The events of a program's executions: what is the same in all that take the same choices.

An access is one event, a read-modify-write too; before all threads, one event writes what memory
holds at first. Accesses that overlap without being equal split memory into cells, each of which an
access uses wholly or not at all; orders of writes are orders of a cell. Whether a guarded operation
is executed, and whether a compare-and-swap stores, are choices: a `Frame` is the events of one
combination, and an execution belongs to it only if its values agree (`gpu.memory_model.values`).

Invariant: events are in program order of the first thread, then of the next; event 0 is the initial
write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise, product
from typing import Final

import numpy as np

from gpu.memory_model.program import (
    BOTH_SPACES,
    Access,
    Fence,
    Guard,
    Load,
    Operation,
    Order,
    Place,
    Program,
    Rmw,
    Space,
    Store,
    Thread,
)
from gpu.memory_model.relations import Events, Relation
from gpu.memory_model.scopes import inclusive
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass

Instance = tuple[str, int, str]
"""Agent and group of local memory, or of none, and a name: what a name stands for."""

Choice = tuple[int, Guard | int]
"""Of a thread, by number: a guard, or the number of a compare-and-swap."""

MOST_CHOICES: Final = 12
"""Of a program; each doubles the number of frames."""


class TooLarge(ValueError):
    """Too many executions to enumerate; the text says of what."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Bytes from ``first`` to ``end`` of what a name stands for."""

    instance: Instance
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Event:
    """``thread``: its number, -1 of the initial write. ``cells``: numbers of those accessed."""

    thread: int
    index: int
    operation: Operation | None
    reads: bool
    writes: bool
    cells: tuple[int, ...] = ()

    @property
    def order(self) -> Order:
        """The initial write is ordered before everything by itself."""
        return self.operation.order if self.operation is not None else Order.non_atomic

    @property
    def atomic(self) -> bool:
        """Whether it is an atomic access; fences access nothing."""
        return self.order is not Order.non_atomic and (self.reads or self.writes)

    @property
    def fence(self) -> bool:
        """Whether it is a fence."""
        return isinstance(self.operation, Fence)

    @property
    def spaces(self) -> frozenset[Space]:
        """The address spaces of which it is an action."""
        if isinstance(self.operation, Fence):
            return self.operation.spaces
        return BOTH_SPACES if self.operation is None else frozenset({self.operation.place.space})


class Frame:
    """``choices``: which of them are taken."""

    def __init__(
        self, program: Program, cells: tuple[Cell, ...], choices: Mapping[Choice, bool]
    ) -> None:
        self.program = program
        self.cells = cells
        self.choices = choices
        self.events = tuple(self._events())
        self.size = len(self.events)

    def _events(self) -> Iterator[Event]:
        yield Event(-1, 0, None, False, True, tuple(range(len(self.cells))))
        for number, thread in enumerate(self.program.threads):
            for index, operation in enumerate(thread.operations):
                guard = operation.when
                if guard is not None and not self.choices[number, guard]:
                    continue
                if isinstance(operation, Fence):
                    yield Event(number, index, operation, False, False)
                    continue
                reads = isinstance(operation, Load | Rmw)
                writes = isinstance(operation, Store | Rmw)
                stores = writes and self.choices.get((number, index), True)
                yield Event(number, index, operation, reads, stores, self._cells(thread, operation))

    def _cells(self, thread: Thread, access: Access) -> tuple[int, ...]:
        place, instance = access.place, instance_of(thread, access.place)
        return tuple(
            number
            for number, cell in enumerate(self.cells)
            if cell.instance == instance
            and place.offset <= cell.first
            and cell.end <= place.offset + place.size
        )

    def _set(self, *names: str) -> Events:
        return np.array([all(getattr(event, name) for name in names) for event in self.events])

    @cached_property
    def atomic(self) -> Events:
        """Atomic accesses."""
        return self._set("atomic")

    @cached_property
    def fences(self) -> Events:
        """Fences of any order but relaxed."""
        return self._set("fence")

    @cached_property
    def updates(self) -> Events:
        """Read-modify-writes that store."""
        return self._set("reads", "writes")

    @cached_property
    def releasing(self) -> Events:
        """Writes and fences that release."""
        return np.array([(e.writes or e.fence) and e.order.releases for e in self.events])

    @cached_property
    def acquiring(self) -> Events:
        """Reads and fences that acquire."""
        return np.array([(e.reads or e.fence) and e.order.acquires for e in self.events])

    @cached_property
    def seq_cst(self) -> Events:
        """Operations that are sequentially consistent."""
        return np.array([event.order is Order.seq_cst for event in self.events])

    def of_spaces(self, spaces: frozenset[Space]) -> Events:
        """Actions of one of these address spaces."""
        return np.array([bool(event.spaces & spaces) for event in self.events])

    @cached_property
    def same_thread(self) -> Relation:
        """The initial write has no thread."""
        threads = np.array([event.thread for event in self.events])
        same: Relation = (threads[:, None] == threads) & (threads >= 0)
        return same

    @cached_property
    def program_order(self) -> Relation:
        """Sequenced before; the initial write before everything."""
        later = np.triu(np.ones((self.size, self.size), np.bool_), 1)
        order = self.same_thread & later
        order[0, 1:] = True
        return order

    @cached_property
    def inclusive(self) -> Relation:
        """Operations of threads whose scopes include each other."""
        result = np.zeros((self.size, self.size), np.bool_)
        threads = self.program.threads
        for i, one in enumerate(self.events):
            for j, other in enumerate(self.events):
                if one.operation is not None and other.operation is not None:
                    result[i, j] = inclusive(
                        threads[one.thread].position,
                        one.operation.scope,
                        threads[other.thread].position,
                        other.operation.scope,
                    )
        return result

    @cached_property
    def conflicting(self) -> Relation:
        """Accesses of two threads to a cell, one of them writing."""
        used = np.zeros((self.size, len(self.cells)), np.bool_)
        for number, event in enumerate(self.events):
            used[number, list(event.cells)] = True
        writes = self._set("writes")
        shared: Relation = used @ used.T
        shared = shared & (writes[:, None] | writes) & ~self.same_thread
        shared[0, :] = shared[:, 0] = False
        return shared

    @cached_property
    def same_footprint(self) -> Relation:
        """Accesses of the same bytes."""
        cells = [event.cells for event in self.events]
        return np.array([[one == other for other in cells] for one in cells], np.bool_)

    def name(self, number: int) -> str:
        """An event for people: ``P0: store x = 1 (release, agent)``."""
        event = self.events[number]
        if event.operation is None:
            return "initial values"
        return f"{self.program.threads[event.thread].name}: {text_of(event.operation)}"


def frames(program: Program) -> Iterator[Frame]:
    """For each combination of choices. Raises TooLarge."""
    choices = list(dict.fromkeys(_choices(program)))
    if len(choices) > MOST_CHOICES:
        raise TooLarge(f"{len(choices)} guards and compare-and-swaps; at most {MOST_CHOICES}")
    cells = tuple(_cells(program))
    for taken in product((True, False), repeat=len(choices)):
        yield Frame(program, cells, dict(zip(choices, taken)))


def _choices(program: Program) -> Iterator[Choice]:
    for number, thread in enumerate(program.threads):
        for index, operation in enumerate(thread.operations):
            if operation.when is not None:
                yield number, operation.when
            if isinstance(operation, Rmw) and operation.kind == AtomicKind.CAS:
                yield number, index


def instance_of(thread: Thread | None, place: Place) -> Instance:
    """What a place of a thread is in; without a thread, global memory."""
    if place.space is Space.local and thread is not None:
        return thread.position.agent, thread.position.group, place.name
    return "", -1, place.name


def _cells(program: Program) -> Iterator[Cell]:
    edges: dict[Instance, set[int]] = {}
    uses = [
        (thread, operation.place)
        for thread in program.threads
        for operation in thread.operations
        if not isinstance(operation, Fence)
    ]
    for thread, place in uses:
        edges.setdefault(instance_of(thread, place), set()).update(
            (place.offset, place.offset + place.size)
        )
    for instance, points in edges.items():
        ordered = sorted(points)
        for first, end in pairwise(ordered):
            yield Cell(instance, first, end)


def text_of(operation: Operation) -> str:
    """An operation in a line."""
    how = f" ({operation.order}, {operation.scope})"
    if isinstance(operation, Fence):
        spaces = "" if len(operation.spaces) > 1 else f" of {next(iter(operation.spaces))} memory"
        return f"fence{spaces}{how}"
    how = "" if operation.order is Order.non_atomic else how
    result = getattr(operation, "register", None)
    into = f" -> {result}" if result else ""
    if isinstance(operation, Load):
        return f"load {operation.place}{into}{how}"
    if isinstance(operation, Store):
        return f"store {operation.place} = {operation.value}{how}"
    name = AtomicKind.name_of(operation.kind).lower()
    return f"atomic {name} {operation.place} {operation.operand}{into}{how}"
