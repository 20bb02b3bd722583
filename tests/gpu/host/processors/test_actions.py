"""Accesses that no processor makes are refused where they are written down."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpu import GpuError
from gpu.host.processors.actions import Atomic, Load, Sleep, Store, Wait
from runtime.types.atomic_op import AtomicKind


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Load(64, 3), "load: the size is 1, 2, 4 or 8 bytes, not 3"),
        (lambda: Load(64, 16), "not 16"),
        (lambda: Load(66), "load: address 0x42 is no multiple of its 4 bytes"),
        (lambda: Load(-4), "load: an address is a number of 64 bits, not -4"),
        (lambda: Load("x"), "load: an address is a number of 64 bits, not 'x'"),
        (lambda: Store(64, 256, 1), "store: value 256 is no number of 1 bytes"),
        (lambda: Store(64, -129, 1), "store: value -129"),
        (lambda: Store(1 << 64, 0), "store: an address is a number of 64 bits"),
        (lambda: Atomic("add", 64, 1, size=2), "atomic: the size is 4 or 8 bytes, not 2"),
        (lambda: Atomic("plus", 64, 1), "no atomic operation 'plus'; there are add, sub, "),
        (lambda: Atomic(13, 64, 1), "no atomic operation 13"),
        (lambda: Atomic("cas", 64, 1, 1 << 32), "atomic: compare 4294967296"),
        (lambda: Atomic("cas", 68, 1, size=8), "atomic: address 0x44"),
        (lambda: Wait(64, 1 << 40), "wait: value 1099511627776"),
        (lambda: Sleep(0), "a sleep takes 1 tick or more, not 0"),
    ],
)
def test_what_cannot_be_carried_out(make: Callable[[], object], words: str) -> None:
    with pytest.raises(GpuError, match=words):
        make()


def test_signed_and_unsigned_numbers() -> None:
    assert Store(64, -1, 1) != Store(64, 255, 1)
    assert Wait(64, -1).ends_with((1 << 32) - 1) and not Wait(64, -1).ends_with(255)
    assert Wait(64, lambda value: value > 2).ends_with(3)


def test_operations_by_name_and_by_number() -> None:
    names = [name.lower() for name in AtomicKind.members()]
    assert [Atomic(name, 0, 0).kind for name in names] == list(range(AtomicKind.NUM))
    assert Atomic(AtomicKind.CAS, 0, 0) != Atomic("cas", 0, 0)
    assert Atomic(AtomicKind.CAS, 0, 0).kind == Atomic("cas", 0, 0).kind
