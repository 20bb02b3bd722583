"""Structures in memory as lists of fields.

Invariant: every byte outside of the fields is zero when packed, and reported when it is not zero in
memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import NamedTuple

from slicc.text.lazy_dataclass import dataclass


class Field(NamedTuple):
    """Little-endian integer at a byte offset."""

    name: str
    offset: int
    size: int
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure of ``size`` bytes. Bytes outside ``fields`` are reserved and zero."""

    name: str
    size: int
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field:
        """Raises KeyError with the structure's name."""
        for each in self.fields:
            if each.name == name:
                return each
        raise KeyError(f"{self.name} has no field {name}")

    def pack(self, values: Mapping[str, int]) -> bytes:
        """Bytes; fields that are not given are 0. Raises ValueError for what does not fit."""
        return self.change(bytes(self.size), values)

    def change(self, data: bytes, values: Mapping[str, int]) -> bytes:
        """The structure with other values of some fields. Raises ValueError as `pack` does."""
        changed = bytearray(data)
        for name, value in values.items():
            field = self.field(name)
            changed[field.offset : field.offset + field.size] = self.pack_field(name, value)
        return bytes(changed)

    def pack_field(self, name: str, value: int) -> bytes:
        """Bytes of one field. Raises ValueError if the value does not fit it, or is no integer."""
        field = self.field(name)
        try:
            return index(value).to_bytes(field.size, "little", signed=field.signed)
        except TypeError:
            raise ValueError(f"{self.name}.{name} is an integer, not {value!r}") from None
        except OverflowError:
            raise ValueError(
                f"{self.name}.{name} has {field.size} bytes; {value} does not fit"
            ) from None

    def unpack(self, data: bytes) -> dict[str, int]:
        """Every field. Raises ValueError for another number of bytes."""
        if len(data) != self.size:
            raise ValueError(f"{self.name} has {self.size} bytes, not {len(data)}")
        return {
            field.name: int.from_bytes(
                data[field.offset : field.offset + field.size], "little", signed=field.signed
            )
            for field in self.fields
        }

    def reserved(self, data: bytes) -> dict[int, int]:
        """Reserved bytes that are not zero, by offset."""
        left = bytearray(data)
        for field in self.fields:
            left[field.offset : field.offset + field.size] = bytes(field.size)
        return {offset: value for offset, value in enumerate(left) if value}
