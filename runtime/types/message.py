"""The base of every message.

Fields of a message class are class attributes that serve as defaults: creating a message sets
nothing at all, and an action stores only what differs. Invariant: a mutable class default is
shared by all messages and never changed; code that changes such a field stores a value first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Self, TypeVar

from runtime.types.enumeration import Enumeration

_RUNTIME_FIELDS = frozenset({"arrival", "sequence", "created", "identity"})
_NOT_A_KIND = frozenset({"MessageSize", "AccessMode", "Prefetch"})
"""Enumerations that say how a message travels, not what it asks."""
LINE_FIELDS = ("addr", "LineAddress", "Addr", "Address", "address", "lineAddr", "PhysicalAddress")


class Message:
    """What travels between controllers.

    ``arrival``: the tick from which the receiver may see it. ``sequence``: grows with every
    enqueue of the system; buffers order by ``(arrival, sequence)``. ``created``: the tick of
    the last enqueue. ``identity``: the sequence number of the first enqueue, kept by the copies
    that a multicast makes, so that traces can follow one message (-1: never traced).
    """

    LINE_FIELD: ClassVar[str | None] = None
    ENUMERATIONS: ClassVar[Mapping[str, type[Enumeration]]] = {}
    """The fields whose numbers are members of an enumeration."""

    arrival: int = 0
    sequence: int = 0
    created: int = 0
    identity: int = -1

    def __init_subclass__(cls) -> None:
        if "LINE_FIELD" not in vars(cls):
            cls.LINE_FIELD = next((name for name in LINE_FIELDS if hasattr(cls, name)), None)

    def copy(self) -> Self:
        """A message of its own: mutable values are copied, pointers and ids are shared."""
        new = type(self)()
        new.assign(self)
        return new

    def assign(self, other: Message) -> None:
        """Take over every field that ``other`` has set."""
        mine = self.__dict__
        mine.clear()
        for name, value in other.__dict__.items():
            copy = getattr(value, "copy", None)
            mine[name] = value if copy is None else copy()

    def line_address(self) -> int:
        """The address that this message is about; 0 when its class has no such field."""
        return getattr(self, self.LINE_FIELD) if self.LINE_FIELD is not None else 0

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.fields())
        return f"{type(self).__name__}({fields})"

    def fields(self) -> Iterator[tuple[str, str]]:
        """The protocol's own fields that the sender set, with their values as one reads them."""
        for name, value in self.__dict__.items():
            if name not in _RUNTIME_FIELDS:
                enumeration = self.ENUMERATIONS.get(name)
                yield name, repr(value) if enumeration is None else enumeration.name_of(value)


M = TypeVar("M", bound=Message)


def kind_of(message: Message) -> str:
    """``GETX``: what the message says; the name of its class where no field does."""
    field = kind_field(message)
    if field is None:
        return type(message).__name__
    return message.ENUMERATIONS[field].name_of(getattr(message, field))


def kind_field(message: Message | type[Message]) -> str | None:
    """The field that says what a message, or one of a class, asks; None: its class says it."""
    return next((field for field in message.ENUMERATIONS if field not in _NOT_A_KIND), None)
