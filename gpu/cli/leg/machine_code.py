"""Instructions put together from the tables that decode them.

Invariant: what is written here decodes to the instruction and the fields that were asked for.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.encoding.formats import BY_NAME, SRC_LITERAL
from gpu.isa.tables import OPCODES

_NUMBERS: Final = {
    (form, opcode.name): number
    for form in ("FLAT", "MUBUF", "SOP1", "SOPP", "VOP2")
    for number, opcode in OPCODES[form].items()
}
EXEC_LO: Final = 126
MINUS_ONE: Final = 193
"""The operand code of the constant -1."""

ALL_RETURNED: Final = 0x0070
"""For ``s_waitcnt``: every vector memory and LDS instruction, not exports."""


def encode(form: str, name: str, literal: int | None = None, **fields: int) -> bytes:
    """One instruction; fields that are not given are 0."""
    layout = BY_NAME[form]
    word = int(layout.prefix, 2) << 32 - len(layout.prefix)
    word |= _NUMBERS[form, name] << layout.opcode.low
    for field, value in fields.items():
        word |= value << layout.fields[field].low
    data = word.to_bytes(4 * layout.words, "little")
    return data if literal is None else data + literal.to_bytes(4, "little")


def set_exec(mask: int) -> bytes:
    """Which lanes are active."""
    return b"".join(
        encode("SOP1", "s_mov_b32", part, sdst=EXEC_LO + half, ssrc0=SRC_LITERAL)
        for half, part in enumerate((mask & 0xFFFF_FFFF, mask >> 32))
    )


def wait() -> bytes:
    """Until everything has returned, stores included."""
    return encode("SOPP", "s_waitcnt", simm16=ALL_RETURNED)


def acquire() -> bytes:
    """Empty the vector cache."""
    return encode("MUBUF", "buffer_wbinvl1_vol") + wait()


def end() -> bytes:
    return encode("SOPP", "s_endpgm")


def flat(name: str, address: int, *, data: int = 0, result: int = 0, scope: int = 0) -> bytes:
    """``address``: the first register of a pair. ``scope``: 1 for glc, 2 for slc."""
    return encode(
        "FLAT", f"flat_{name}", addr=address, data=data, vdst=result, glc=scope & 1, slc=scope >> 1
    )


def add_constant(result: int, number: int, register: int) -> bytes:
    """``result = number + register``, in each active lane; changes VCC."""
    return encode("VOP2", "v_add_u32", number, vdst=result, vsrc1=register, src0=SRC_LITERAL)
