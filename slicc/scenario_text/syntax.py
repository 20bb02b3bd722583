"""What an author wrote: a scenario as frozen, typed, located values.

Two scenarios are equal if they say the same, wherever it is written; what
`slicc.scenario_text.printer` writes of one is read as an equal one. Invariant: names and offsets
are as written; nothing here knows a protocol, a system or an address that the text does not state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Final

from slicc.scenario_text.conditions import Condition, Model, Place
from slicc.source import NOWHERE, Span
from slicc.text.lazy_dataclass import dataclass

DEFAULT_BYTES: Final = 4
"""Size of an access that states none."""

KERNEL_MODELS: Final = (Model.hsa, Model.opencl)

PROTOCOL_ENDINGS: Final = (".slicc", ".sm")

Value = int | bool | str | list["Value"] | dict[str, "Value"]
"""Of a setting."""


@dataclass(frozen=True, slots=True)
class Node:
    span: Span = field(default=NOWHERE, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Result(Node):
    """What a load or atomic operation is said to return: a register's name, a value, or (neither)
    what memory held at first."""

    register: str | None = None
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Order(Node):
    """What an operation orders, and for which threads: words of the language. ``scope``: None where
    none is stated."""

    word: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Guard(Node):
    """The operation is made if the register of its thread holds the value."""

    register: str
    value: int


@dataclass(frozen=True, slots=True)
class Access(Node):
    """What loads, stores and atomic operations have in common. ``lane``: of a wavefront.

    ``joins``: a further lane of the instruction in the row above. ``size``: in bytes, None: not
    stated.
    """

    place: Place
    lane: int = 0
    joins: bool = False
    size: int | None = None
    scopes: frozenset[str] = frozenset()
    order: Order | None = None
    when: Guard | None = None

    @property
    def bytes(self) -> int:
        return DEFAULT_BYTES if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class Load(Access):
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Store(Access):
    """``register``: stored instead of the value."""

    value: int = 0
    register: str | None = None


@dataclass(frozen=True, slots=True)
class Atomic(Access):
    """``operation``: a name of `runtime.types.atomic_op.AtomicKind`, in lower case.

    ``compare``: what a cas compares with. ``register``: the operand, instead of a number.
    """

    operation: str = "add"
    operand: int = 0
    compare: int | None = None
    result: Result | None = None
    register: str | None = None


@dataclass(frozen=True, slots=True)
class Add(Node):
    """The fetch-adds that open or close an episode: lane and atomic word of each."""

    words: tuple[tuple[int, Place], ...]
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class After(Node):
    """Until ``count`` episodes of a thread are complete; None: all that stand above."""

    thread: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Mark(Node):
    """A word alone: acquire, release, flush, fence, begin, end, or racing (loads)."""

    word: str


@dataclass(frozen=True, slots=True)
class Fence(Node):
    """A fence of an order. ``space``: the only address space whose accesses it orders."""

    order: Order
    space: str | None = None
    when: Guard | None = None


Operation = Load | Store | Atomic | Add | After | Mark | Fence


@dataclass(frozen=True, slots=True)
class Step(Node):
    """One cell of the table: what the thread of a column does. ``column`` counts from 0."""

    column: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Position(Node):
    """Where a thread is: of a processor (``cpu``), or in a work-group of a kernel, which is on
    compute unit ``unit`` (None: any)."""

    cpu: int | None = None
    group: int = 0
    wave: int = 0
    lane: int = 0
    unit: int | None = None


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A thread: its name, and the agent that runs it (None: the one of that name, or any)."""

    name: str
    agent: str | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Location(Node):
    """``name = address``, or ``name = base + offset``."""

    name: str
    base: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """``set path = value``, of the system description."""

    path: str
    value: Value = field(hash=False)


@dataclass(frozen=True, slots=True)
class Scenario(Node):
    """A whole text. Steps are read row by row, each row from left to right."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Step, ...], ...]
    conditions: tuple[Condition, ...] = ()
    locations: tuple[Location, ...] = ()
    settings: tuple[Setting, ...] = ()
    title: str = ""
    protocol: str | None = None
    keys: tuple[int, ...] = ()
    delays: tuple[str, ...] = ()
    limit: int | None = None
    model: Model | None = None
    local: tuple[str, ...] = ()
    """Locations in the local memory of a work-group."""
    without: tuple[str, ...] = ()
    """Groups of agents that the system is built without."""

    @property
    def racy(self) -> bool:
        """Whether it is judged by its conditions, and not byte by byte."""
        return bool(self.conditions)

    @property
    def assignments(self) -> dict[str, Value]:
        """What it sets of the system, by path."""
        return {setting.path: setting.value for setting in self.settings}

    def names_file(self) -> bool:
        """Whether its protocol is a path, from where the text is, and no name."""
        return self.protocol is not None and self.protocol.endswith(PROTOCOL_ENDINGS)

    def of_kernels(self) -> Span | None:
        """The first thing that only tests of kernels have: a place, an order, a guard, .."""
        headings = dict(self.headings)
        if self.local or self.model in KERNEL_MODELS:
            return headings.get("local") or headings.get("model") or self.span
        positions = [column.position for column in self.columns if column.position]
        if positions:
            return positions[0].span
        for step in self.steps():
            operation = step.operation
            if isinstance(operation, Fence):
                return operation.span
            if isinstance(operation, Access) and (operation.order or operation.when):
                return operation.span
            if isinstance(operation, Store | Atomic) and operation.register is not None:
                return operation.span
        return None

    def steps(self) -> Iterator[Step]:
        """All cells in the order of reading."""
        for row in self.rows:
            yield from row

    def place_of(self, label: str) -> Span:
        """Where a heading is, for messages: ``protocol``, ``keys``, ``delays`` .."""
        return dict(self.headings).get(label, self.span)

    headings: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)
