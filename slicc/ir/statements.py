"""Statements: what an action, a function or a port does, in order."""

from __future__ import annotations

from enum import Enum

from slicc.ir.expressions import Expr, TransactionField
from slicc.ir.nodes import Node, PortRef, TypeRef
from slicc.ir.types import Type
from slicc.text.lazy_dataclass import dataclass


class Copying(Enum):
    """How an assignment stores its value.

    REBIND: scalars, pointers, immutable values and temporaries: the slot takes the value itself.
    COPY: the slot gets a new copy. OVERWRITE: the object in the slot takes over the contents
    (also the only way to write through a reference).
    """

    REBIND = "rebind"
    COPY = "copy"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """A new local. ``initial`` is never absent: a missing one is the type's default value."""

    name: str
    type: Type
    initial: Expr
    copying: Copying


@dataclass(frozen=True, slots=True)
class Assign(Node):
    target: Expr
    value: Expr
    copying: Copying


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression for its effect."""

    expression: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class Peek(Node):
    """Bind ``local`` to the head message of the port, read-only, and run the body.

    ``block_on`` names an Addr field: leave the port body when that line is locked for another
    buffer. ``wake_up`` names one whose stalled messages are woken first.
    """

    port: PortRef
    message: TypeRef
    local: str
    body: tuple[Stmt, ...]
    block_on: str | None = None
    wake_up: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueue(Node):
    """Build one message, run the body on it, then send it after ``latency`` cycles.

    ``fresh`` names the fields of mutable value type whose first use in the body is not a whole
    assignment, so that they need a default object of their own.
    """

    port: PortRef
    message: TypeRef
    local: str
    latency: Expr
    bypass: Expr | None
    body: tuple[Stmt, ...]
    fresh: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trigger(Node):
    """Try a transition; success leaves the port body, a stall continues with the next statement."""

    event: Expr
    address: Expr
    entry: Expr | None
    tbe: Expr | None


@dataclass(frozen=True, slots=True)
class StallPort(Node):
    """``stallPort()``: wake this controller again next cycle."""


@dataclass(frozen=True, slots=True)
class StallAndWait(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class WakeupPort(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class CheckNextCycle(Node):
    pass


@dataclass(frozen=True, slots=True)
class CheckOnCacheProbe(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class CheckAllocate(Node):
    """No effect of its own: it adds to the slots its action needs (kept for printing)."""

    target: str


@dataclass(frozen=True, slots=True)
class SetTransaction(Node):
    """``set_tbe``/``set_cache_entry`` (a value) or ``unset_…`` (None)."""

    field: TransactionField
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Panic(Node):
    """``error("…")``: a case that the protocol declares impossible."""

    text: str


@dataclass(frozen=True, slots=True)
class Assert(Node):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Trace(Node):
    """``DPRINTF``: ``flag`` None for ``DPRINTFN``."""

    flag: str | None
    format: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TransitionComment(Node):
    value: Expr


Stmt = (
    Declare
    | Assign
    | Evaluate
    | If
    | Return
    | Peek
    | Enqueue
    | Trigger
    | StallPort
    | StallAndWait
    | WakeupPort
    | CheckNextCycle
    | CheckOnCacheProbe
    | CheckAllocate
    | SetTransaction
    | Panic
    | Assert
    | Trace
    | TransitionComment
)
