"""A message's fields in a few words."""

from __future__ import annotations

from runtime.types.message import LINE_FIELDS, Message, kind_field
from runtime.types.values import DataBlock

_SHOWN_ELSEWHERE = frozenset({"Destination", "MessageSize", "pkt", *LINE_FIELDS})


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
            shown.append(f"{name}={text}")
    return " ".join([*shown, "with data"] if data else shown)
