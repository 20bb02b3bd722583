"""Where names are used and what they mean, for editors; and what could stand at the cursor.

Resolve notes here what it looked up, so that an editor needs no second idea of scopes and types.
Invariant: without a :class:`Uses` in its scope resolve does nothing more than a test for None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from slicc import ir
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

CURSOR = "__slicc_cursor__"
"""Stands for the unfinished name in a text that is completed."""


class NameKind(StrEnum):
    """What a name means."""

    TYPE = "type"
    MEMBER = "member"
    FIELD = "field"
    FUNCTION = "function"
    METHOD = "method"
    VARIABLE = "variable"
    PORT = "port"
    ACTION = "action"
    MACHINE = "machine"
    FILE = "file"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Use:
    """A name where it is written (``span``) and where it is declared (``target``).

    ``type`` is that of a value, the result of a function, or the type that a member belongs to.
    """

    span: Span
    target: Span
    kind: NameKind
    type: ir.Type | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that could stand at the cursor."""

    name: str
    kind: NameKind
    type: ir.Type | None = None


@dataclass(slots=True)
class Uses:
    """The uses of one compilation, and what the cursor in a text could be."""

    found: list[Use] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)

    def note(self, span: Span, target: Span, kind: NameKind, type_: ir.Type | None = None) -> None:
        """A name with a meaning."""
        self.found.append(Use(span, target, kind, type_))

    def offer(self, names: Iterable[str], kind: NameKind) -> None:
        """Names that may stand at the cursor."""
        self.offers += [Offer(name, kind) for name in names]
