"""Whether blocks of data keep the values that atomic operations replace, by how a text asks for it.

gem5 first had no such log, then one of every `atomicPartial`, then one that a third argument may
switch off (without it, it is on). A protocol that neither empties a log nor switches one off is of
the first kind: its requesters perform the operations themselves on the line that comes back.
Invariant: in the result, an `atomicPartial` that logs has three arguments.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from slicc import ir

ATOMIC: Final = "atomicPartial"
LOG_CALLS: Final = (ATOMIC, "clearAtomicLogEntries", "numAtomicLogEntries")
"""Methods of DataBlock by which a text shows what log it has."""
_PLAIN: Final = 2
"""Arguments of an `atomicPartial` that does not say whether it logs."""


def with_log(protocol: ir.Protocol, calls: set[str]) -> ir.Protocol:
    """``calls``: what `called` noted of the protocol's calls."""
    if ATOMIC not in calls:
        return protocol
    if calls == {ATOMIC}:
        return replace(protocol, atomic_log=False)
    logging: ir.Protocol = _logging(protocol)
    return logging


def called(method: str, arguments: int) -> str:
    """What to note of a call of a method of DataBlock: its name, `+` for a third argument."""
    return method if method != ATOMIC or arguments == _PLAIN else f"{ATOMIC}+"


def _logging(node: Any) -> Any:
    """A tree with logs switched on where nothing is said of them. What holds no such call
    is the same object."""
    if isinstance(node, tuple):
        parts = [_logging(each) for each in node]
        same = all(new is old for new, old in zip(parts, node, strict=True))
        return node if same else tuple(parts)
    if not is_dataclass(node):
        return node
    changed: dict[str, Any] = {}
    for field in fields(node):
        old = getattr(node, field.name)
        new = _logging(old)
        if new is not old:
            changed[field.name] = new
    if isinstance(node, ir.CallMethod) and node.method == ATOMIC and len(node.arguments) == _PLAIN:
        on = ir.BoolConst(False, span=node.span)
        changed["arguments"] = (*changed.get("arguments", node.arguments), on)
    return replace(node, **changed) if changed else node
