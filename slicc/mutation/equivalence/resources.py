"""Values that say what a body reads and writes.

Invariant: two resources that may be the same thing are never taken for two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from slicc.text.lazy_dataclass import dataclass

Resource = tuple[str, str]
"""A kind and a name; the name ``*`` is all of a kind, the kind ``*`` is everything."""

EVERYTHING: Final[Resource] = ("*", "*")
HINT: Final = "hint"
"""Kind of what only says which line to replace first, or counts for statistics."""
ENTRY: Final = "entry"
RECORD: Final = "record"
"""Kinds of fields: of entries in caches and directories, and of TBEs."""


@dataclass(slots=True)
class Effects:
    """What one body reads and writes."""

    reads: set[Resource] = field(default_factory=set)
    writes: set[Resource] = field(default_factory=set)
    adds: set[Resource] = field(default_factory=set)
    """What is only added to, as members to a set: the order of additions makes no difference."""

    @property
    def only_hints(self) -> bool:
        """Whether no verdict can depend on it."""
        return all(kind == HINT for kind, _ in self.writes) and not self.adds

    def with_hints(self, fields: frozenset[Resource]) -> Effects:
        """The effects where some fields are no more than hints."""
        hints = {(HINT, name) for _, name in self.writes & fields}
        return Effects(self.reads - fields, self.writes - fields | hints, self.adds - fields)

    def commutes(self, other: Effects) -> bool:
        """Whether the order of both makes no difference."""
        return not (self._disturbs(other) or other._disturbs(self))

    def _disturbs(self, other: Effects) -> bool:
        return _meet(self.writes, other.reads | other.writes | other.adds) or _meet(
            self.adds, other.reads
        )


def _meet(some: Iterable[Resource], others: Iterable[Resource]) -> bool:
    return any(_same(one, other) for one in some for other in others)


def _same(one: Resource, other: Resource) -> bool:
    if HINT in (one[0], other[0]):
        return False
    if "*" in (one[0], other[0]):
        return True
    return one[0] == other[0] and (one[1] == other[1] or "*" in (one[1], other[1]))
