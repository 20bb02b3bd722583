"""Layouts of commands as data: which bits of which dwords are what, and what they may be.

Invariant: a command that `CommandLayout.decode` accepts has no bit set outside of its fields, and
each field has a value that its row allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from gpu.errors import QueueError
from slicc.text.lazy_dataclass import dataclass

DWORD: Final = 4
_ONES: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Bits:
    """A field of ``width`` bits from bit ``low`` of dword ``word`` on; dword 0 is the header.

    ``values``: names of what it may be; None for any number. ``multiple``: of what it is one.
    """

    name: str
    word: int
    low: int = 0
    width: int = 32
    values: Mapping[int, str] | None = None
    multiple: int = 1

    @property
    def place(self) -> int:
        """The lowest bit, counted from the header's lowest."""
        return 32 * self.word + self.low

    @property
    def mask(self) -> int:
        """The bits of the field in a command, as ones."""
        return ((1 << self.width) - 1) << self.place

    def of(self, number: int) -> int:
        """The value of the field in a command."""
        return (number & self.mask) >> self.place

    def check(self, command: str, value: int) -> None:
        """Raises QueueError for what it may not be."""
        if self.values is not None and value not in self.values:
            known = ", ".join(f"{number} ({name})" for number, name in self.values.items())
            raise QueueError(f"{command}: {self.name} is {known}", value)
        if value % self.multiple:
            raise QueueError(f"{command}: {self.name} is a multiple of {self.multiple}", hex(value))


@dataclass(frozen=True)
class CommandLayout:
    """A command of ``words`` dwords, header included, and the data behind it if ``data``.

    ``header``: bits of the header that the caller has decoded. ``optional``: further dwords that
    may be missing, and are 0 then.
    """

    name: str
    words: int
    fields: tuple[Bits, ...]
    header: int = _ONES
    data: bool = False
    optional: int = 0

    @cached_property
    def _known(self) -> int:
        known = self.header
        for field in self.fields:
            known |= field.mask
        return known

    def check_length(self, words: int) -> None:
        """Raises QueueError unless a command can have so many dwords."""
        most = self.words + self.optional
        if words < self.words or (words > most and not self.data):
            has = f"{self.words} dwords" if most == self.words else f"{self.words} to {most} dwords"
            raise QueueError(f"{self.name} has {has}{' and data' if self.data else ''}", words)

    def decode(self, data: bytes) -> dict[str, int]:
        """Every field. Raises QueueError."""
        self.check_length(len(data) // DWORD)
        fixed = DWORD * (self.words + self.optional)
        number = int.from_bytes(data[:fixed], "little")
        reserved = number & ~self._known
        if reserved:
            word, bit = divmod((reserved & -reserved).bit_length() - 1, 32)
            raise QueueError(f"{self.name}: reserved bits are 0", f"bit {bit} of dword {word}")
        found = {field.name: field.of(number) for field in self.fields}
        for field in self.fields:
            field.check(self.name, found[field.name])
        return found

    def tail(self, data: bytes) -> bytes:
        """The data behind the command."""
        return data[DWORD * self.words :]

    def pack(self, header: int, values: Mapping[str, int], tail: bytes = b"") -> bytes:
        """A command, as a program writes it. Raises KeyError for a field that it does not have."""
        number = header
        fields = {field.name: field for field in self.fields}
        for name, value in values.items():
            number |= value << fields[name].place
        words = self.words if number < 1 << 32 * self.words else self.words + self.optional
        return number.to_bytes(DWORD * words, "little") + tail
