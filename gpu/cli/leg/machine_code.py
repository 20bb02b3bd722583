"""The few instructions that a leg's kernel is made of, for gfx803.

Invariant: each function returns whole instructions.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.encoding.encoder import encode
from gpu.isa.encoding.formats import SRC_LITERAL

EXEC_LO: Final = 126
MINUS_ONE: Final = 193
"""The operand code of the constant -1."""

ALL_RETURNED: Final = 0x0070
"""For ``s_waitcnt``: every vector memory and LDS instruction, not exports."""


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
