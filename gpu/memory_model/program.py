"""A litmus test at the level of the language: threads at places of a system, and their operations.

What a kernel's code sequences are made from, and what the memory model judges. Nothing here knows
caches, compute units or instructions. Values are unsigned numbers, little endian in memory, which
holds zeroes except for ``initial``. A place in local memory is another one in each work-group.

Invariant: a program that was made is valid: orders fit their operations, registers are set once and
before they are read, accesses are aligned, and all sizes are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from gpu.memory_model.scopes import Position, Scope
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass

MOST_THREADS: Final = 16
MOST_OPERATIONS: Final = 64
"""Of a whole program; enumeration is exponential in what races, and has a bound of its own."""


class ProgramError(ValueError):
    """A program that cannot be; the text says which thread and operation, and why."""


class Order(StrEnum):
    """The order of an operation, as in C11 and OpenCL C. HSAIL's screl and scacq are ``seq_cst``
    here."""

    non_atomic = "non-atomic"
    relaxed = "relaxed"
    acquire = "acquire"
    release = "release"
    acq_rel = "acq_rel"
    seq_cst = "seq_cst"

    @property
    def acquires(self) -> bool:
        """Whether a read or a fence of this order acquires."""
        return self in (Order.acquire, Order.acq_rel, Order.seq_cst)

    @property
    def releases(self) -> bool:
        """Whether a write or a fence of this order releases."""
        return self in (Order.release, Order.acq_rel, Order.seq_cst)


class Space(StrEnum):
    """Address spaces that threads share. HSA calls them segments; local is LDS, or group memory."""

    global_ = "global"
    local = "local"


BOTH_SPACES: Final = frozenset(Space)


@dataclass(frozen=True, slots=True)
class Place:
    """``size`` bytes, ``offset`` bytes behind the start of what has a name."""

    name: str
    offset: int = 0
    size: int = 4
    space: Space = Space.global_

    def __str__(self) -> str:
        return f"{self.name}+{self.offset}" if self.offset else self.name


Value = int | str
"""A number, or the register of the same thread that holds it."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The operation is executed if the register of the same thread holds the value."""

    register: str
    value: int


@dataclass(frozen=True, slots=True)
class Load:
    """``register``: of the thread, gets the value; None: it is not observed."""

    place: Place
    register: str | None = None
    order: Order = Order.non_atomic
    scope: Scope = Scope.system
    when: Guard | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """Writes a value."""

    place: Place
    value: Value
    order: Order = Order.non_atomic
    scope: Scope = Scope.system
    when: Guard | None = None


@dataclass(frozen=True, slots=True)
class Rmw:
    """A read-modify-write. ``kind``: an `AtomicKind`; ``compare``: what compare-and-swap compares
    with; ``register`` gets the old value, None: the form of the instruction without return."""

    place: Place
    kind: int
    operand: Value
    compare: int = 0
    register: str | None = None
    order: Order = Order.relaxed
    scope: Scope = Scope.system
    when: Guard | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """``spaces``: of which address spaces it orders the accesses."""

    order: Order
    scope: Scope = Scope.system
    spaces: frozenset[Space] = BOTH_SPACES
    when: Guard | None = None


Access = Load | Store | Rmw
Operation = Access | Fence


@dataclass(frozen=True, slots=True)
class Thread:
    """A work-item, or a thread of a processor."""

    name: str
    position: Position
    operations: tuple[Operation, ...]

    @property
    def registers(self) -> tuple[str, ...]:
        """In the order in which they are set."""
        return tuple(
            each.register
            for each in self.operations
            if isinstance(each, Load | Rmw) and each.register is not None
        )


@dataclass(frozen=True, slots=True)
class Program:
    """``initial``: of places that do not start as zero. ``observed``: whose value at the end is a
    part of the outcome. Conditions are not a part of it: they compare outcomes, by `terms`."""

    threads: tuple[Thread, ...]
    initial: Mapping[Place, int] = field(default_factory=dict)
    observed: tuple[Place, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def terms(self) -> tuple[str, ...]:
        """What the values of an `Outcome` belong to, as conditions spell it: ``P0:r0``, ``x+4``.
        A register whose load was not executed is 0."""
        registers = [f"{each.name}:{name}" for each in self.threads for name in each.registers]
        return (*registers, *map(str, self.observed))


Outcome = tuple[int, ...]
"""A value for each of the program's `terms`."""


# ---------------------------------------------------------------- what is checked


def _check(program: Program) -> None:
    names = [thread.name for thread in program.threads]
    if not 0 < len(names) <= MOST_THREADS:
        raise ProgramError(f"a program has 1 to {MOST_THREADS} threads, not {len(names)}")
    if len(set(names)) < len(names):
        raise ProgramError(f"two threads have the same name: {', '.join(names)}")
    if len({thread.position for thread in program.threads}) < len(names):
        raise ProgramError("two threads are at the same position")
    count = sum(len(thread.operations) for thread in program.threads)
    if count > MOST_OPERATIONS:
        raise ProgramError(f"{count} operations; at most {MOST_OPERATIONS} are judged")
    for thread in program.threads:
        _check_thread(thread)
    for place in (*program.initial, *program.observed):
        _check_place(place, f"place {place}")
    for place, value in program.initial.items():
        _check_value(value, place, f"place {place}")
    _check_spaces(program)


def _check_thread(thread: Thread) -> None:
    known: set[str] = set()
    for number, operation in enumerate(thread.operations, 1):
        where = f"operation {number} of {thread.name}"
        if operation.when is not None and operation.when.register not in known:
            raise ProgramError(f"{where}: register {operation.when.register} is not set before")
        if isinstance(operation, Fence):
            if operation.order in (Order.non_atomic, Order.relaxed) or not operation.spaces:
                raise ProgramError(f"{where}: a fence orders nothing: {operation.order}")
            continue
        _check_access(operation, where, known)
        if thread.position.agent == "cpu" and operation.place.space is Space.local:
            raise ProgramError(f"{where}: a processor has no local memory")
        if isinstance(operation, Load | Rmw) and operation.register is not None:
            if operation.register in known:
                raise ProgramError(f"{where}: register {operation.register} is set already")
            known.add(operation.register)


def _check_access(access: Access, where: str, known: set[str]) -> None:
    _check_place(access.place, where)
    wrong = {
        Load: (Order.release, Order.acq_rel),
        Store: (Order.acquire, Order.acq_rel),
        Rmw: (Order.non_atomic,),
    }[type(access)]
    if access.order in wrong:
        kind = type(access).__name__.lower()
        raise ProgramError(f"{where}: a {kind} cannot be {access.order}")
    if isinstance(access, Load):
        return
    value = access.value if isinstance(access, Store) else access.operand
    if isinstance(value, int):
        _check_value(value, access.place, where)
    elif value not in known:
        raise ProgramError(f"{where}: register {value} is not set before")
    if isinstance(access, Rmw):
        if access.place.size < 4 or not 0 <= access.kind < AtomicKind.NUM:
            raise ProgramError(f"{where}: no atomic operation {access.kind} of that size")
        _check_value(access.compare, access.place, where)


def _check_place(place: Place, where: str) -> None:
    if place.size not in (1, 2, 4, 8) or place.offset < 0 or place.offset % place.size:
        raise ProgramError(
            f"{where}: {place} ({place.size} bytes): an access has 1, 2, 4 or 8 bytes and is at a "
            "multiple of them"
        )


def _check_value(value: int, place: Place, where: str) -> None:
    if not 0 <= value < 1 << 8 * place.size:
        raise ProgramError(f"{where}: {value:#x} does not fit {place.size} unsigned bytes")


def _check_spaces(program: Program) -> None:
    """A name is in one space; local memory that is initialised or observed is of one group."""
    spaces: dict[str, Space] = {}
    groups: dict[str, set[tuple[str, int]]] = {}
    for thread in program.threads:
        for operation in thread.operations:
            if isinstance(operation, Fence):
                continue
            name, space = operation.place.name, operation.place.space
            if spaces.setdefault(name, space) is not space:
                raise ProgramError(f"{name} is in two address spaces")
            groups.setdefault(name, set()).add((thread.position.agent, thread.position.group))
    for place in (*program.initial, *program.observed):
        if spaces.get(place.name, place.space) is not place.space:
            raise ProgramError(f"{place.name} is in two address spaces")
        if place.space is Space.local and len(groups.get(place.name, ())) > 1:
            raise ProgramError(f"{place.name} is local memory of several work-groups")
