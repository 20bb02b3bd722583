"""Scalar memory (SMEM), flat (FLAT) and buffer (MUBUF, MTBUF) instructions.

FLAT and MUBUF number the same moves and atomics alike; one list serves both. A vector atomic has
its destination operand only when ``glc`` asks for the old value: `gpu.isa.encoding.decoder` leaves
it out otherwise.

Source: the public GCN3 instruction set architecture manual, chapters "Scalar memory operations"
and "Vector memory operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.isa.instruction import Opcode, OperandAccess, OperandRow, Unit
from gpu.isa.tables.rows import rows

SMEM: Final = rows("SMEM", Unit.SCALAR_MEMORY, "sdata sbase offset", """
     0  s_load_dword             b32= b64 imm
     1  s_load_dwordx2           b64= b64 imm
     2  s_load_dwordx4           b128= b64 imm
     3  s_load_dwordx8           b256= b64 imm
     4  s_load_dwordx16          b512= b64 imm
     8  s_buffer_load_dword      b32= b128 imm
     9  s_buffer_load_dwordx2    b64= b128 imm
    10  s_buffer_load_dwordx4    b128= b128 imm
    11  s_buffer_load_dwordx8    b256= b128 imm
    12  s_buffer_load_dwordx16   b512= b128 imm
    16  s_store_dword            b32 b64 imm
    17  s_store_dwordx2          b64 b64 imm
    18  s_store_dwordx4          b128 b64 imm
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
CHANNELS: Final = {"x": "b32", "xy": "b64", "xyz": "b96", "xyzw": "b128"}


def _atomics() -> Iterator[tuple[int, str, str, str]]:
    """Number, name, type of the memory operand, type of the data (a compared value behind it)."""
    for first, suffix, type, pair in ((64, "", "b32", "b64"), (96, "_x2", "b64", "b128")):
        for place, name in enumerate(ATOMICS):
            yield first + place, name + suffix, type, pair if name == "cmpswap" else type


def _flat() -> Iterator[Opcode]:
    def opcode(number: int, name: str, *operands: OperandRow) -> Opcode:
        return Opcode(f"flat_{name}", "FLAT", number, Unit.VECTOR_MEMORY, operands)

    address = OperandRow("addr", "b64")
    for number, (name, type) in LOADS.items():
        yield opcode(number, f"load_{name}", OperandRow("vdst", type, OperandAccess.WRITE), address)
    for number, (name, type) in STORES.items():
        yield opcode(number, f"store_{name}", address, OperandRow("data", type))
    for number, name, type, data in _atomics():
        returned = OperandRow("vdst", type, OperandAccess.WRITE)
        yield opcode(number, f"atomic_{name}", returned, address, OperandRow("data", data))


def _buffer_operands(type: str, access: OperandAccess) -> tuple[OperandRow, ...]:
    return (
        OperandRow("vdata", type, access),
        OperandRow("vaddr", "b32"),
        OperandRow("srsrc", "b128"),
        OperandRow("soffset", "b32"),
    )


def _mubuf() -> Iterator[Opcode]:
    def opcode(
        number: int, name: str, operands: tuple[OperandRow, ...] = (), tier: int = 1
    ) -> Opcode:
        return Opcode(f"buffer_{name}", "MUBUF", number, Unit.VECTOR_MEMORY, operands, tier)

    for number, name, operands in _formatted():
        yield opcode(number, name, operands, tier=4)
    for number, (name, type) in LOADS.items():
        yield opcode(number, f"load_{name}", _buffer_operands(type, OperandAccess.WRITE))
    for number, (name, type) in STORES.items():
        yield opcode(number, f"store_{name}", _buffer_operands(type, OperandAccess.READ))
    yield opcode(62, "wbinvl1")
    yield opcode(63, "wbinvl1_vol")
    for number, name, _, data in _atomics():
        yield opcode(number, f"atomic_{name}", _buffer_operands(data, OperandAccess.BOTH))


def _formatted() -> Iterator[tuple[int, str, tuple[OperandRow, ...]]]:
    """Loads and stores that convert between formats: numbers 0 to 15 of both buffer formats."""
    number = 0
    for kind in ("format_", "format_d16_"):
        for move, access in (("load", OperandAccess.WRITE), ("store", OperandAccess.READ)):
            for channels, type in CHANNELS.items():
                yield number, f"{move}_{kind}{channels}", _buffer_operands(type, access)
                number += 1


FLAT: Final = {opcode.number: opcode for opcode in _flat()}
MUBUF: Final = {opcode.number: opcode for opcode in _mubuf()}
MTBUF: Final = {
    number: Opcode(f"tbuffer_{name}", "MTBUF", number, Unit.VECTOR_MEMORY, operands, tier=4)
    for number, name, operands in _formatted()
}
