"""A message's fields in a few words."""

from __future__ import annotations

from typing import Final

from runtime.types.atomic_op import AtomicKind
from runtime.types.message import LINE_FIELDS, Message, kind_field
from runtime.types.values import DataBlock, WriteMask

_SHOWN_ELSEWHERE = frozenset({"Destination", "MessageSize", "pkt", *LINE_FIELDS})
_SHOWN_ATOMICS: Final = 2


def details_of(message: Message, known: str = "") -> str:
    """``Acks=1 with data``: what its sender set besides kind, line and receivers.

    Fields that only say ``known``, as the machine id of the sender, are left out.
    """
    shown = []
    data = False
    hidden = _SHOWN_ELSEWHERE | {kind_field(message)}
    for name, text in message.fields():
        value = getattr(message, name)
        if isinstance(value, DataBlock):
            data = True
        elif name not in hidden and text != known and value != getattr(type(message), name):
            shown.append(f"{name}={mask_text(value) if isinstance(value, WriteMask) else text}")
    return " ".join([*shown, "with data"] if data else shown)


def mask_text(mask: WriteMask) -> str:
    """``40..43``, and for atomics ``40..43 (40 ADD 1, 40 ADD 1, 2 more)``."""
    text = ",".join(
        f"{first}..{end - 1}" if end - first > 1 else str(first) for first, end in mask.ranges()
    )
    if not mask.atomics:
        return text
    shown = [
        f"{offset} {AtomicKind.name_of(op.kind)} {op.operand}"
        for offset, op in mask.atomics[:_SHOWN_ATOMICS]
    ]
    more = len(mask.atomics) - len(shown)
    return f"{text} ({', '.join([*shown, f'{more} more'] if more else shown)})"
