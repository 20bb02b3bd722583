"""What a memory instruction moves, derived from its mnemonic.

FLAT and MUBUF instructions share one set of loads, stores and atomic operations (GCN3
instruction set architecture, "Flat" and "Untyped buffer" opcodes); only their addresses differ.
Invariant: a movement describes the data completely and does not depend on the address.
"""

from __future__ import annotations

from typing import Final

from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Movement:
    """``bytes``: a lane, in memory. ``signed``: a narrow load is sign-extended.

    ``op``: the `AtomicKind` of an atomic, whose operand (and, for compare-and-swap, the comparand,
    after the operand) stands in the data registers. ``half``: 0 or 1 for the lower or upper 16
    bits of a register, of which the other half is left alone; None for whole registers.
    """

    kind: int
    bytes: int
    signed: bool = False
    op: int = 0
    half: int | None = None

    @property
    def atomic(self) -> bool:
        """Whether it is a read-modify-write."""
        return self.kind == AccessKind.ATOMIC

    @property
    def compares(self) -> bool:
        """Whether a second value, to compare with, follows the operand."""
        return self.kind == AccessKind.ATOMIC and self.op == AtomicKind.CAS


@dataclass(frozen=True, slots=True)
class LaneMove:
    """A load or store that only moves bytes of lanes, as far as its operands say.

    ``bytes``: at each place. ``local``: in LDS. ``address``: the register of the addresses, or the
    first of two; with ``base``, the first of two scalar registers, the addresses are 32-bit offsets
    from there. ``offsets``: of the places. ``data``: registers, one for each place. ``rows``:
    vector registers that a wave needs.
    """

    bytes: int
    stores: bool
    signed: bool
    local: bool
    address: int
    offsets: tuple[int, ...]
    data: tuple[int, ...]
    rows: int
    base: int | None = None


_LOAD: Final = AccessKind.LOAD
_STORE: Final = AccessKind.STORE

_MOVES = {
    "load_ubyte": Movement(_LOAD, 1),
    "load_sbyte": Movement(_LOAD, 1, signed=True),
    "load_ushort": Movement(_LOAD, 2),
    "load_sshort": Movement(_LOAD, 2, signed=True),
    "load_dword": Movement(_LOAD, 4),
    "load_dwordx2": Movement(_LOAD, 8),
    "load_dwordx3": Movement(_LOAD, 12),
    "load_dwordx4": Movement(_LOAD, 16),
    "store_byte": Movement(_STORE, 1),
    "store_short": Movement(_STORE, 2),
    "store_dword": Movement(_STORE, 4),
    "store_dwordx2": Movement(_STORE, 8),
    "store_dwordx3": Movement(_STORE, 12),
    "store_dwordx4": Movement(_STORE, 16),
}

_MOVES |= {
    f"load_{name}_d16{ending}": Movement(_LOAD, bytes, signed, half=half)
    for name, bytes, signed in (("ubyte", 1, False), ("sbyte", 1, True), ("short", 2, False))
    for half, ending in enumerate(("", "_hi"))
} | {
    "store_byte_d16_hi": Movement(_STORE, 1, half=1),
    "store_short_d16_hi": Movement(_STORE, 2, half=1),
}
_ATOMICS: Final = {
    "swap": AtomicKind.EXCHANGE,
    "cmpswap": AtomicKind.CAS,
    "add": AtomicKind.ADD,
    "sub": AtomicKind.SUB,
    "smin": AtomicKind.MIN,
    "umin": AtomicKind.UMIN,
    "smax": AtomicKind.MAX,
    "umax": AtomicKind.UMAX,
    "and": AtomicKind.AND,
    "or": AtomicKind.OR,
    "xor": AtomicKind.XOR,
    "inc": AtomicKind.INC,
    "dec": AtomicKind.DEC,
}


def movement_of(name: str) -> Movement | None:
    """The movement of a ``flat_``, ``global_``, ``scratch_`` or ``buffer_`` mnemonic; None when it
    moves no plain data."""
    action = name.split("_", 1)[1]
    if action in _MOVES:
        return _MOVES[action]
    wide = action.endswith("_x2")
    op = _ATOMICS.get(action.removeprefix("atomic_").removesuffix("_x2"))
    if op is None or not action.startswith("atomic_"):
        return None
    return Movement(AccessKind.ATOMIC, 8 if wide else 4, op=op)
