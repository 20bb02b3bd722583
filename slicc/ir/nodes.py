"""The base class of all nodes, and references to declarations."""

from __future__ import annotations

from dataclasses import field

from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stems from a place in a source file."""

    span: Span = field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A declared type: global when ``machine`` is None."""

    machine: str | None
    name: str


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function with a body: of a machine, or a method of a structure (``owner``).

    ``name`` is unique in its scope: overloads carry their parameter types
    (``wakeUp_Addr``), the only function of its name keeps the author's.
    """

    machine: str | None
    owner: str | None
    name: str


@dataclass(frozen=True, slots=True)
class ActionRef:
    machine: str
    name: str


@dataclass(frozen=True, slots=True)
class PortRef:
    """An in-port or out-port of the machine being compiled."""

    machine: str
    name: str
