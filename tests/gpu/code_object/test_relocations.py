"""Each type of relocation computes what the specification's table says."""

from __future__ import annotations

import pytest

from gpu.code_object.elf import Relocation, Symbol
from gpu.code_object.relocations import RelocationError, check, field_size, patch

BASE, PLACE, ADDEND = 0x1_0000_0000, 0x40, -8
SYMBOL = Symbol("value", 0x2000, 4, 1, 5)


@pytest.mark.parametrize(
    ("kind", "size", "value"),
    [
        (1, 4, 0x1FF8),
        (2, 4, 0x1),
        (3, 8, 0x1_0000_1FF8),
        (4, 4, 0x1FB8),
        (5, 8, 0x1FB8),
        (6, 4, 0x1FF8),
        (10, 4, 0x1FB8),
        (11, 4, 0),
        (13, 8, 0xFFFF_FFF8),
    ],
)
def test_fields(kind: int, size: int, value: int) -> None:
    relocation = Relocation(PLACE, kind, ADDEND, SYMBOL if kind != 13 else None)
    assert field_size(relocation) == size
    assert patch(relocation, BASE) == value.to_bytes(size, "little")


def test_backwards_distances_are_negative() -> None:
    relocation = Relocation(0x3000, 11, 0, SYMBOL)
    assert patch(relocation, BASE) == b"\xff\xff\xff\xff"


def test_absolute_symbols_do_not_move() -> None:
    absolute = Symbol("size", 0x77, 0, 0, 0xFFF1)
    assert patch(Relocation(PLACE, 3, 1, absolute), BASE) == (0x78).to_bytes(8, "little")


@pytest.mark.parametrize("kind", [7, 8, 9, 12, 14, 99])
def test_what_only_a_linker_resolves(kind: int) -> None:
    with pytest.raises(RelocationError, match=rf"relocation of 0x40 has type {kind}"):
        field_size(Relocation(PLACE, kind, 0, None))


def test_undefined_symbols() -> None:
    undefined = Symbol("printf", 0, 0, 0, 0)
    with pytest.raises(RelocationError, match="'printf' is used at 0x40 and defined nowhere"):
        check(Relocation(PLACE, 3, 0, undefined))
