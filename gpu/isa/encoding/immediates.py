"""Immediate operands with a structure of their own: wait counts, messages, hardware registers,
patterns of ds_swizzle. Their parts for execution, their text for the printer.

Source: the public GCN3 instruction set architecture manual; names as in the public AMDGPU
assembler documentation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gpu.generation import Generation

_REGISTERS_GFX8: Final = {
    1: "HW_REG_MODE", 2: "HW_REG_STATUS", 3: "HW_REG_TRAPSTS", 4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC", 6: "HW_REG_LDS_ALLOC", 7: "HW_REG_IB_STS",
}  # fmt: skip
_REGISTERS: Final = {
    Generation.GFX8: _REGISTERS_GFX8,
    Generation.GFX9: _REGISTERS_GFX8 | {15: "HW_REG_SH_MEM_BASES"},
}
_MESSAGES_GFX8: Final = {
    1: "MSG_INTERRUPT", 2: "MSG_GS", 3: "MSG_GS_DONE", 4: "MSG_SAVEWAVE", 15: "MSG_SYSMSG",
}  # fmt: skip
_MESSAGES: Final = {
    Generation.GFX8: _MESSAGES_GFX8,
    Generation.GFX9: _MESSAGES_GFX8 | {
        5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES", 7: "MSG_ORDERED_PS_DONE",
        8: "MSG_EARLY_PRIM_DEALLOC", 9: "MSG_GS_ALLOC_REQ", 10: "MSG_GET_DOORBELL",
    },
}  # fmt: skip
_GEOMETRY: Final = ("GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT")
_SYSTEM: Final = {
    1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD",
    3: "SYSMSG_OP_HOST_TRAP_ACK", 4: "SYSMSG_OP_TTRACE_PC",
}  # fmt: skip
_INDEXED: Final = ("SRC0", "SRC1", "SRC2", "DST")


class WaitCounts(NamedTuple):
    """How many operations of each kind may still be outstanding; the largest number that a field
    can hold means any number."""

    vm: int
    exp: int
    lgkm: int


ANY_COUNT: Final = {
    Generation.GFX8: WaitCounts(15, 7, 15),
    Generation.GFX9: WaitCounts(63, 7, 15),
}
_OTHER_BITS: Final = {Generation.GFX8: 0xF080, Generation.GFX9: 0x3080}


def split_wait(simm16: int, generation: Generation) -> WaitCounts:
    """The three counts of s_waitcnt. On GFX9, bits 15:14 are the upper ones of the first."""
    upper = simm16 >> 14 << 4
    vm = (simm16 & 15 | upper) & ANY_COUNT[generation].vm
    return WaitCounts(vm, simm16 >> 4 & 7, simm16 >> 8 & 15)


def joined_wait(counts: WaitCounts) -> int:
    """The operand of s_waitcnt with these counts, the inverse of `split_wait`."""
    return counts.vm & 15 | counts.exp << 4 | counts.lgkm << 8 | counts.vm >> 4 << 14


def wait_counts(simm16: int, generation: Generation) -> str:
    """The counts of a wait as text. Where all are at their largest, all are named."""
    counts = split_wait(simm16, generation)
    if simm16 & _OTHER_BITS[generation]:
        return f"{simm16:#x}"
    most_of_all = ANY_COUNT[generation]
    named = [
        f"{name}cnt({count})"
        for name, count, most in zip(counts._fields, counts, most_of_all)
        if count != most or counts == most_of_all
    ]
    return " ".join(named)


class RegisterPart(NamedTuple):
    """``size`` bits from bit ``offset`` of hardware register ``number``."""

    number: int
    offset: int
    size: int


def split_register(simm16: int) -> RegisterPart:
    """What s_getreg and s_setreg name."""
    return RegisterPart(simm16 & 63, simm16 >> 6 & 31, (simm16 >> 11 & 31) + 1)


def register_part(simm16: int, generation: Generation) -> str:
    part = split_register(simm16)
    name = _REGISTERS[generation].get(part.number, str(part.number))
    if part.offset == 0 and part.size == 32:
        return f"hwreg({name})"
    return f"hwreg({name}, {part.offset}, {part.size})"


def message(simm16: int, generation: Generation) -> str:
    """What s_sendmsg sends: kind in bits 3:0, operation in 6:4, stream in 9:8."""
    if simm16 & ~0x37F:
        return str(simm16)
    kind, operation, stream = simm16 & 15, simm16 >> 4 & 7, simm16 >> 8 & 3
    name = _MESSAGES[generation].get(kind)
    if name and kind not in (2, 3, 15) and not operation and not stream:
        return f"sendmsg({name})"
    if kind == 15 and operation in _SYSTEM and not stream:
        return f"sendmsg({name}, {_SYSTEM[operation]})"
    if kind == 3 and not operation and not stream:
        return f"sendmsg({name}, {_GEOMETRY[0]})"
    if kind in (2, 3) and 0 < operation < 4:
        return f"sendmsg({name}, {_GEOMETRY[operation]}, {stream})"
    return f"sendmsg({kind}, {operation}, {stream})"


def gpr_index(bits: int) -> str:
    """Which operands s_set_gpr_idx_on makes relative."""
    if bits >> len(_INDEXED):
        return f"{bits:#x}"
    names = ",".join(name for place, name in enumerate(_INDEXED) if bits >> place & 1)
    return f"gpr_idx({names})"


def swizzle(offset: int) -> str:
    """A pattern of ds_swizzle_b32, named where the assembler has a name for it."""
    if offset & 0xFF00 == 0x8000:
        lanes = ",".join(str(offset >> 2 * place & 3) for place in range(4))
        return f"swizzle(QUAD_PERM,{lanes})"
    if offset & 0x8000:
        return str(offset)
    keep, set_bits, flip = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    if keep == 31 and not set_bits and flip.bit_count() == 1:
        return f"swizzle(SWAP,{flip})"
    if keep == 31 and not set_bits and flip and not flip & flip + 1:
        return f"swizzle(REVERSE,{flip + 1})"
    group = 32 - keep
    if not flip and group > 1 and group.bit_count() == 1 and set_bits < group:
        return f"swizzle(BROADCAST,{group},{set_bits})"
    if set_bits & keep or flip & ~keep:
        return str(offset)
    return f'swizzle(BITMASK_PERM,"{_bit_pattern(keep, set_bits, flip)}")'


def _bit_pattern(keep: int, set_bits: int, flip: int) -> str:
    """What happens to each bit of a lane's number, highest first: 0, 1, kept (p), inverted (i)."""
    letters = ""
    for place in reversed(range(5)):
        bit = 1 << place
        low = bool(set_bits & bit) ^ bool(flip & bit)
        high = bool(keep & bit or set_bits & bit) ^ bool(flip & bit)
        letters += {(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}[low, high]
    return letters
