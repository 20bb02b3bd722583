"""Scalar memory (SMEM), flat (FLAT) and buffer (MUBUF, MTBUF) instructions.

FLAT and MUBUF number the same moves and atomics alike; one list serves both. A vector atomic has
its destination operand only when ``glc`` asks for the old value: `gpu.isa.encoding.decoder` leaves
it out otherwise.

On GFX9, FLAT has two further segments, GLOBAL and SCRATCH, which number the same moves alike, too.

Source: the public instruction set architecture manuals of GCN3 and Vega, chapters "Scalar memory
operations" and "Vector memory operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gpu.generation import Generation
from gpu.isa.instruction import EVERY_GENERATION, Opcode, OperandAccess, OperandRow, Unit
from gpu.isa.tables.rows import rows

_SMEM: Final = rows("SMEM", Unit.SCALAR_MEMORY, "sdata sbase offset", """
     0  s_load_dword             b32= b64 imm
     1  s_load_dwordx2           b64= b64 imm
     2  s_load_dwordx4           b128= b64 imm
     3  s_load_dwordx8           b256= b64 imm
     4  s_load_dwordx16          b512= b64 imm
     5  s_scratch_load_dword     b32= b64 imm   tier3 gfx9
     6  s_scratch_load_dwordx2   b64= b64 imm   tier3 gfx9
     7  s_scratch_load_dwordx4   b128= b64 imm  tier3 gfx9
     8  s_buffer_load_dword      b32= b128 imm
     9  s_buffer_load_dwordx2    b64= b128 imm
    10  s_buffer_load_dwordx4    b128= b128 imm
    11  s_buffer_load_dwordx8    b256= b128 imm
    12  s_buffer_load_dwordx16   b512= b128 imm
    16  s_store_dword            b32 b64 imm
    17  s_store_dwordx2          b64 b64 imm
    18  s_store_dwordx4          b128 b64 imm
    21  s_scratch_store_dword    b32 b64 imm    tier3 gfx9
    22  s_scratch_store_dwordx2  b64 b64 imm    tier3 gfx9
    23  s_scratch_store_dwordx4  b128 b64 imm   tier3 gfx9
    24  s_buffer_store_dword     b32 b128 imm
    25  s_buffer_store_dwordx2   b64 b128 imm
    26  s_buffer_store_dwordx4   b128 b128 imm
    32  s_dcache_inv
    33  s_dcache_wb
    34  s_dcache_inv_vol
    35  s_dcache_wb_vol
    36  s_memtime                b64=
    37  s_memrealtime            b64=
    38  s_atc_probe              imm b64 imm   tier3
    39  s_atc_probe_buffer       imm b128 imm  tier3
    40  s_dcache_discard         sbase:b64 offset:imm  tier3 gfx9
    41  s_dcache_discard_x2      sbase:b64 offset:imm  tier3 gfx9
""")  # fmt: skip

LOADS: Final = {
    16: ("ubyte", "b32"), 17: ("sbyte", "b32"), 18: ("ushort", "b32"), 19: ("sshort", "b32"),
    20: ("dword", "b32"), 21: ("dwordx2", "b64"), 22: ("dwordx3", "b96"), 23: ("dwordx4", "b128"),
}  # fmt: skip
STORES: Final = {
    24: ("byte", "b32"), 26: ("short", "b32"),
    28: ("dword", "b32"), 29: ("dwordx2", "b64"), 30: ("dwordx3", "b96"), 31: ("dwordx4", "b128"),
}  # fmt: skip
ATOMICS: Final = (
    "swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc",
    "dec",
)  # fmt: skip
"""From number 64 on; from 96 on the same on 64 bits, ``_x2``."""
HALF_LOADS: Final = {
    32: "ubyte_d16", 33: "ubyte_d16_hi", 34: "sbyte_d16", 35: "sbyte_d16_hi",
    36: "short_d16", 37: "short_d16_hi",
}  # fmt: skip
"""Loads into one half of a register."""
SCALAR_BASE: Final = {"GLOBAL": "b64", "SCRATCH": "b32"}
"""The type of the scalar base of a segment's addresses."""
HALF_STORES: Final = {25: "byte_d16_hi", 27: "short_d16_hi"}
_GFX9: Final = frozenset({Generation.GFX9})
CHANNELS: Final = {"x": "b32", "xy": "b64", "xyz": "b96", "xyzw": "b128"}
PACKED_CHANNELS: Final = {"x": "b32", "xy": "b32", "xyz": "b64", "xyzw": "b64"}
"""Channels of 16 bits, on GFX9."""


def _atomics() -> Iterator[tuple[int, str, str, str]]:
    """Number, name, type of the memory operand, type of the data (a compared value behind it)."""
    for first, suffix, type, pair in ((64, "", "b32", "b64"), (96, "_x2", "b64", "b128")):
        for place, name in enumerate(ATOMICS):
            yield first + place, name + suffix, type, pair if name == "cmpswap" else type


def _flat() -> Iterator[Opcode]:
    yield from _segment("FLAT")
    for opcode in _segment_halves("FLAT"):
        yield replace(opcode, generations=_GFX9)


def _later_segment(format: str) -> Iterator[Opcode]:
    for opcode in (*_segment(format), *_segment_halves(format)):
        if format != "SCRATCH" or "atomic" not in opcode.name:
            yield replace(opcode, generations=_GFX9)


def _segment(format: str) -> Iterator[Opcode]:
    for number, (name, type) in LOADS.items():
        returned = OperandRow("vdst", type, OperandAccess.WRITE)
        yield _moving(format, number, f"load_{name}", returned)
    for number, (name, type) in STORES.items():
        yield _moving(format, number, f"store_{name}", OperandRow("data", type))
    for number, name, type, data in _atomics():
        returned = OperandRow("vdst", type, OperandAccess.WRITE)
        yield _moving(format, number, f"atomic_{name}", returned, OperandRow("data", data))


def _segment_halves(format: str) -> Iterator[Opcode]:
    for number, name in HALF_LOADS.items():
        kept = OperandRow("vdst", "b32", OperandAccess.BOTH)
        yield _moving(format, number, f"load_{name}", kept)
    for number, name in HALF_STORES.items():
        yield _moving(format, number, f"store_{name}", OperandRow("data", "b32"))


def _moving(format: str, number: int, name: str, *data: OperandRow) -> Opcode:
    """Operands as they are printed: the result, addresses, data, and a scalar base."""
    results = tuple(each for each in data if each.field == "vdst")
    others = tuple(each for each in data if each.field != "vdst")
    address = OperandRow("addr", "b32" if format == "SCRATCH" else "b64")
    base = () if format == "FLAT" else (OperandRow("saddr", SCALAR_BASE[format], kind="s"),)
    operands = (*results, address, *others, *base)
    return Opcode(f"{format.lower()}_{name}", format, number, Unit.VECTOR_MEMORY, operands)


def _buffer_operands(type: str, access: OperandAccess) -> tuple[OperandRow, ...]:
    return (
        OperandRow("vdata", type, access),
        OperandRow("vaddr", "b32"),
        OperandRow("srsrc", "b128"),
        OperandRow("soffset", "b32"),
    )


def _mubuf() -> Iterator[Opcode]:
    def opcode(number: int, name: str, operands: tuple[OperandRow, ...] = ()) -> Opcode:
        return Opcode(f"buffer_{name}", "MUBUF", number, Unit.VECTOR_MEMORY, operands)

    yield from _formatted("MUBUF", "buffer")
    for number, (name, type) in LOADS.items():
        yield opcode(number, f"load_{name}", _buffer_operands(type, OperandAccess.WRITE))
    for number, (name, type) in STORES.items():
        yield opcode(number, f"store_{name}", _buffer_operands(type, OperandAccess.READ))
    yield from _mubuf_halves()
    yield opcode(62, "wbinvl1")
    yield opcode(63, "wbinvl1_vol")
    for number, name, _, data in _atomics():
        yield opcode(number, f"atomic_{name}", _buffer_operands(data, OperandAccess.BOTH))


def _mubuf_halves() -> Iterator[Opcode]:
    def opcode(number: int, name: str, access: OperandAccess, tier: int = 1) -> Opcode:
        operands = _buffer_operands("b32", access)
        return Opcode(
            f"buffer_{name}", "MUBUF", number, Unit.VECTOR_MEMORY, operands, tier,
            generations=_GFX9,
        )  # fmt: skip

    for number, name in HALF_LOADS.items():
        yield opcode(number, f"load_{name}", OperandAccess.BOTH)
    for number, name in HALF_STORES.items():
        yield opcode(number, f"store_{name}", OperandAccess.READ)
    yield opcode(38, "load_format_d16_hi_x", OperandAccess.BOTH, tier=4)
    yield opcode(39, "store_format_d16_hi_x", OperandAccess.READ, tier=4)


def _scalar_atomics() -> Iterator[Opcode]:
    """Decoded only: with ``glc`` the old value is returned in ``sdata``."""
    for first, prefix, base in ((0, "s_buffer_atomic_", "b128"), (64, "s_atomic_", "b64")):
        for number, name, _, data in _atomics():
            operands = (
                OperandRow("sdata", data, OperandAccess.BOTH),
                OperandRow("sbase", base),
                OperandRow("offset", "imm"),
            )
            yield Opcode(
                prefix + name, "SMEM", first + number, Unit.SCALAR_MEMORY, operands, tier=3,
                generations=_GFX9,
            )  # fmt: skip


def _formatted(format: str, prefix: str) -> Iterator[Opcode]:
    """Loads and stores that convert between formats: numbers 0 to 15 of both buffer formats."""
    for kind, channels, generations in (
        ("format", CHANNELS, EVERY_GENERATION),
        ("format_d16", CHANNELS, EVERY_GENERATION - _GFX9),
        ("format_d16", PACKED_CHANNELS, _GFX9),
    ):
        number = 8 if kind == "format_d16" else 0
        for move, access in (("load", OperandAccess.WRITE), ("store", OperandAccess.READ)):
            for channel, type in channels.items():
                yield Opcode(
                    f"{prefix}_{move}_{kind}_{channel}", format, number, Unit.VECTOR_MEMORY,
                    _buffer_operands(type, access), tier=4, generations=generations,
                )  # fmt: skip
                number += 1


SMEM: Final = (*_SMEM, *_scalar_atomics())
FLAT: Final = tuple(_flat())
GLOBAL: Final = tuple(_later_segment("GLOBAL"))
SCRATCH: Final = tuple(_later_segment("SCRATCH"))
MUBUF: Final = tuple(_mubuf())
MTBUF: Final = tuple(_formatted("MTBUF", "tbuffer"))
