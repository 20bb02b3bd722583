"""Dynamic relocations: what has to be patched once the load address is known.

Source: LLVM "User Guide for AMDGPU Backend", "Relocation Records". S: the symbol's address,
A: the addend, P: the place's address, B: the load address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpu.code_object.elf import ABSOLUTE, Relocation

NONE: Final = 0
_Field = tuple[int, Callable[[int, int, int, int], int]]

_FIELDS: Final[dict[int, _Field]] = {
    1: (4, lambda s, a, p, b: s + a),
    2: (4, lambda s, a, p, b: s + a >> 32),
    3: (8, lambda s, a, p, b: s + a),
    4: (4, lambda s, a, p, b: s + a - p),
    5: (8, lambda s, a, p, b: s + a - p),
    6: (4, lambda s, a, p, b: s + a),
    10: (4, lambda s, a, p, b: s + a - p),
    11: (4, lambda s, a, p, b: s + a - p >> 32),
    13: (8, lambda s, a, p, b: b + a),
}
"""Bytes of the field, and its value, by type: ABS32_LO, ABS32_HI, ABS64, REL32, REL64, ABS32,
REL32_LO, REL32_HI, RELATIVE64."""


class RelocationError(ValueError):
    """A relocation cannot be applied."""


def field_size(relocation: Relocation) -> int:
    """Bytes it patches. Raises `RelocationError` for types that only a linker resolves."""
    if relocation.type not in _FIELDS:
        raise RelocationError(
            f"relocation of {relocation.address:#x} has type {relocation.type}, which no loader "
            "resolves"
        )
    return _FIELDS[relocation.type][0]


def patch(relocation: Relocation, base: int) -> bytes:
    """The bytes of the field for an object loaded at ``base``."""
    size, compute = _FIELDS[relocation.type]
    symbol = relocation.symbol
    absolute = symbol is None or symbol.section == ABSOLUTE
    value = compute(
        (symbol.address if symbol is not None else 0) + (0 if absolute else base),
        relocation.addend,
        base + relocation.address,
        base,
    )
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def check(relocation: Relocation) -> None:
    """Raise `RelocationError` if its symbol is defined nowhere."""
    symbol = relocation.symbol
    if symbol is not None and symbol.section == 0:
        raise RelocationError(
            f"{symbol.name!r} is used at {relocation.address:#x} and defined nowhere; "
            "link the object with what defines it"
        )
