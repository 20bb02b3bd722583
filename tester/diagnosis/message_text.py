"""A message in a few words: what it says, and the fields that its sender set."""

from __future__ import annotations

from runtime.types.message import LINE_FIELDS, Message
from runtime.types.values import DataBlock

_NOT_A_KIND = frozenset({"MessageSize", "AccessMode", "Prefetch"})
"""Enumerations that say how a message travels, not what it asks."""
_SHOWN_ELSEWHERE = frozenset({"Destination", "MessageSize", "pkt", *LINE_FIELDS})


def kind_of(message: Message) -> str:
    """``GETX``: what the message says; the name of its class where it says nothing."""
    field = _kind_field(message)
    if field is None:
        return type(message).__name__
    return message.ENUMERATIONS[field].name_of(getattr(message, field))


def details_of(message: Message, known: str = "") -> str:
    """``Acks=1 with data``: what its sender set besides kind, line and receivers.

    Fields that only say ``known``, as the machine id of the sender, are left out.
    """
    shown = []
    data = False
    hidden = _SHOWN_ELSEWHERE | {_kind_field(message)}
    for name, text in message.fields():
        value = getattr(message, name)
        if isinstance(value, DataBlock):
            data = True
        elif name not in hidden and text != known and value != getattr(type(message), name):
            shown.append(f"{name}={text}")
    return " ".join([*shown, "with data"] if data else shown)


def _kind_field(message: Message) -> str | None:
    return next((field for field in message.ENUMERATIONS if field not in _NOT_A_KIND), None)
