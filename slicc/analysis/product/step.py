"""One step of one machine: its storage thawed, its decisions, and what it sends.

Invariant: a step changes nothing but itself; the exploration freezes its outcome.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

from slicc.analysis.product.values import LINE, Record, Unmodelled, Value
from slicc.text.lazy_dataclass import dataclass

Source = tuple[str, int]
"""Who sent a message: a machine, or what stands outside (``("processor", 0)``)."""


@dataclass(slots=True)
class Sent:
    """A message that is put into a buffer of its sender."""

    buffer: str
    message: Record
    span: Any


@dataclass(slots=True)
class Waiting:
    """A stalled message."""

    port: str
    source: Source
    message: Record


@dataclass(slots=True)
class Step:
    """What one machine has and does while it polls one port."""

    me: tuple[str, int]
    counts: dict[str, int]
    """How many machines there are of each type."""
    objects: dict[str, Value]
    """Scalars and values of the machine."""
    tables: dict[str, Value]
    """Record of the line in each table and cache; None: it has none."""
    waiting: list[Waiting]
    port: str
    source: Source
    message: Record | None
    decisions: Sequence[bool] = ()
    homes: Collection[str] = ()
    """Directories: every line is present in them, whether it has an entry or not."""
    taken: list[bool] = field(default_factory=list)
    address: int = LINE
    entry: Value = None
    tbe: Value = None
    popped: bool = False
    recycled: bool = False
    woken: list[Waiting] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    answered: bool = False
    """The processor, or what else asks, has been answered about the line."""
    calls: int = 0
    looked: list[tuple[str, str]] = field(default_factory=list)
    """(state, event) pairs that were triggered."""

    def decide(self) -> bool:
        """Which way an unknown condition goes; what was not decided before goes the first way."""
        position = len(self.taken)
        way = self.decisions[position] if position < len(self.decisions) else True
        if position > 12:
            raise Unmodelled("too many unknown conditions")
        self.taken.append(way)
        return way

    def take(self) -> None:
        """The message at the head leaves."""
        if self.popped:
            raise Unmodelled("pops twice")
        self.popped = True

    def wake(self, port: str | None = None) -> None:
        """Stalled messages return to the heads of their queues."""
        for each in [each for each in self.waiting if port is None or each.port == port]:
            self.waiting.remove(each)
            self.woken.append(each)
