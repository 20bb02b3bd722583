"""What an author wrote: a scenario as frozen, typed, located values.

Two scenarios are equal if they say the same, wherever it is written; what
`scenario_text.printer` writes of one is read as an equal one. Invariant: names and offsets
are as written; nothing here knows a protocol, a system or an address that the text does not state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scenario_text.conditions import Condition, Model, Place
from slicc.source import NOWHERE, Span

DEFAULT_BYTES: Final = 4
"""Size of an access that states none."""

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

    @property
    def bytes(self) -> int:
        return DEFAULT_BYTES if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class Load(Access):
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Store(Access):
    value: int = 0


@dataclass(frozen=True, slots=True)
class Atomic(Access):
    """``operation``: a name of `runtime.types.atomic_op.AtomicKind`, in lower case.

    ``compare``: what a cas compares with.
    """

    operation: str = "add"
    operand: int = 0
    compare: int | None = None
    result: Result | None = None


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


Operation = Load | Store | Atomic | Add | After | Mark


@dataclass(frozen=True, slots=True)
class Step(Node):
    """One cell of the table: what the thread of a column does. ``column`` counts from 0."""

    column: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A thread: its name, and the agent that runs it (None: the one of that name, or any)."""

    name: str
    agent: str | None = None


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
    without: tuple[str, ...] = ()
    """Groups of agents that the system is built without."""

    @property
    def racy(self) -> bool:
        """Whether it is judged by its conditions, and not byte by byte."""
        return bool(self.conditions)

    def steps(self) -> Iterator[Step]:
        """All cells in the order of reading."""
        for row in self.rows:
            yield from row

    def place_of(self, label: str) -> Span:
        """Where a heading is, for messages: ``protocol``, ``keys``, ``delays`` .."""
        return dict(self.headings).get(label, self.span)

    headings: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)
