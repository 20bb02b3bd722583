"""Which operands an instruction really has, and which registers they are.

A table row says what an opcode may have; a few bits change that: an atomic without ``glc`` returns
nothing, a buffer address may be absent, ``tfe`` writes one register more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gpu.generation import Generation
from gpu.isa.encoding.formats import VGPR
from gpu.isa.instruction import (
    Instruction,
    Opcode,
    OperandAccess,
    OperandRow,
    RegisterRange,
    Unit,
)
from gpu.isa.operand_types import TYPES

FLAT_SCRATCH: Final = 102
VCC: Final = 106
M0: Final = 124
EXEC: Final = 126
FIRST_TTMP: Final = {Generation.GFX8: 112, Generation.GFX9: 108}
"""The first trap register. Before GFX9, TBA and TMA are 108 to 111."""

IMPLICIT: Final = {
    "scc": RegisterRange("scc", 0, 1),
    "vcc": RegisterRange("s", VCC, 2),
    "exec": RegisterRange("s", EXEC, 2),
    "m0": RegisterRange("s", M0, 1),
    "flat_scratch": RegisterRange("s", FLAT_SCRATCH, 2),
}
VECTOR_FIELDS: Final = frozenset({
    "vdst", "addr", "data", "data0", "data1", "vaddr", "vdata",
    "vsrc", "vsrc0", "vsrc1", "vsrc2", "vsrc3",
})  # fmt: skip
"""Fields of eight bits that name a vector register."""
NO_BASE: Final = 0x7F
"""The scalar base of a segment's address, where there is none."""
QUAD_FIELDS: Final = {"srsrc": 4, "ssamp": 4, "sbase": 2}
"""Fields that name a scalar register by its number divided by this."""
_VARYING: Final = frozenset({"FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG"})
"""Formats in which bits of an instruction change which operands it has."""
_MASKED: Final = frozenset({Unit.VECTOR_ALU, Unit.VECTOR_MEMORY, Unit.LDS})
_IGNORES_EXEC: Final = frozenset({"v_readlane_b32", "v_writelane_b32", "v_nop", "v_clrexcp"})
_SWIZZLES: Final = frozenset({"ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32", "ds_nop"})


def operands_of(opcode: Opcode, fields: dict[str, int]) -> tuple[OperandRow, ...]:
    """The operands of one instruction, in the order in which they are printed."""
    if opcode.format not in _VARYING:
        return opcode.operands
    return tuple(_varying_operands(opcode, fields))


def _varying_operands(opcode: Opcode, fields: dict[str, int]) -> Iterator[OperandRow]:
    for operand in opcode.operands:
        match opcode.format, operand.field:
            case (("FLAT" | "GLOBAL"), "vdst") if "atomic" in opcode.name and not fields["glc"]:
                continue
            case (("GLOBAL" | "SCRATCH"), "saddr"):
                if fields["saddr"] != NO_BASE:
                    yield operand
            case "GLOBAL", "addr" if fields["saddr"] != NO_BASE:
                yield replace(operand, type="b32")
            case "SCRATCH", "addr" if fields["saddr"] != NO_BASE:
                continue
            case (("MUBUF" | "MTBUF"), "vaddr"):
                words = fields["offen"] + fields["idxen"]
                if words:
                    yield replace(operand, type=f"b{32 * words}")
            case (("MUBUF" | "MTBUF"), "vdata"):
                yield _buffer_data(opcode, operand, fields)
            case "MIMG", "vdata":
                yield _image_data(opcode, operand, fields)
            case _:
                yield operand


def _buffer_data(opcode: Opcode, operand: OperandRow, fields: dict[str, int]) -> OperandRow:
    if "atomic" in opcode.name and not fields["glc"]:
        return replace(operand, access=OperandAccess.READ)
    return operand


def _image_data(opcode: Opcode, operand: OperandRow, fields: dict[str, int]) -> OperandRow:
    if "gather4" in opcode.name:
        return operand
    words = max(fields["dmask"].bit_count(), 1)
    return replace(operand, type=f"b{32 * words}")


_SIGNED_OFFSETS: Final = {"GLOBAL": 13, "SCRATCH": 13, "SMEM": 21}
"""Bits of offsets that may be negative, on GFX9."""


def offset_of(instruction: Instruction) -> int:
    """The number in a memory instruction that is added to an address; 0 if it has none."""
    offset = instruction.fields.get("offset", 0)
    bits = _SIGNED_OFFSETS.get(instruction.form)
    if bits is None or instruction.generation is Generation.GFX8:
        return offset
    return offset - (offset >> bits - 1 << bits)


def register_of(operand: OperandRow, fields: dict[str, int]) -> RegisterRange | None:
    """The registers an operand names, or None if it is a constant."""
    code = fields[operand.field]
    size = TYPES[operand.type].registers
    if operand.field in VECTOR_FIELDS:
        more = operand.field in ("vdata", "vdst") and fields.get("tfe", 0)
        return RegisterRange("v", code, size + more) if size else None
    code *= QUAD_FIELDS.get(operand.field, 1)
    if operand.field in ("literal", "simm16") or operand.type == "imm":
        return None
    if code >= VGPR:
        return RegisterRange("v", code - VGPR, size)
    if code < 128:
        return RegisterRange("s", code, size)
    return _special(code)


def _special(code: int) -> RegisterRange | None:
    return {251: IMPLICIT["vcc"], 252: IMPLICIT["exec"], 253: IMPLICIT["scc"]}.get(code)


def registers_of(
    opcode: Opcode, form: str, fields: dict[str, int], generation: Generation
) -> tuple[tuple[RegisterRange, ...], tuple[RegisterRange, ...]]:
    """What an instruction reads and what it writes."""
    reads = [IMPLICIT[name] for name in opcode.reads]
    writes = [IMPLICIT[name] for name in opcode.writes]
    for operand in operands_of(opcode, fields):
        registers = register_of(operand, fields)
        if registers is None:
            continue
        if operand.access is not OperandAccess.WRITE or _keeps_old(opcode, form, fields, operand):
            reads.append(registers)
        if operand.access is not OperandAccess.READ:
            writes.append(registers)
    reads.extend(_further_reads(opcode, fields, generation))
    return tuple(reads), tuple(writes)


def beyond(
    reads: tuple[RegisterRange, ...], writes: tuple[RegisterRange, ...], vgprs: int
) -> int | None:
    """The last vector register that is named though a wave has only so many, or None."""
    last = last_vector_register(reads, writes)
    return last if last >= vgprs else None


def last_vector_register(
    reads: tuple[RegisterRange, ...], writes: tuple[RegisterRange, ...]
) -> int:
    """The highest number of those that are named, -1 without any."""
    ranges = (place for place in (*reads, *writes) if place.file == "v")
    return max((place.first + place.size - 1 for place in ranges), default=-1)


def scalars_named(reads: tuple[RegisterRange, ...], writes: tuple[RegisterRange, ...]) -> int:
    """How many of the scalar registers from s0 on a wave needs for what is named. Registers with
    names of their own (FLAT_SCRATCH, VCC, those of trap handlers ...) are always there."""
    ranges = (place for place in (*reads, *writes) if place.file == "s")
    ends = (place.first + place.size for place in ranges if place.first < FLAT_SCRATCH)
    return min(max(ends, default=0), FLAT_SCRATCH)


def _keeps_old(opcode: Opcode, form: str, fields: dict[str, int], operand: OperandRow) -> bool:
    """Whether bits of active lanes are left as they were, so that the old value is read."""
    if operand.field != "vdst":
        return False
    if "opsel" in opcode.flags:
        return TYPES[operand.type].bits == 16
    return form == "SDWA" and fields["dst_unused"] == 2 and fields["dst_sel"] != 6


def _further_reads(
    opcode: Opcode, fields: dict[str, int], generation: Generation
) -> Iterator[RegisterRange]:
    if opcode.unit in _MASKED and opcode.name not in _IGNORES_EXEC:
        yield IMPLICIT["exec"]
    if opcode.unit is Unit.LDS and _needs_bound(opcode, fields, generation):
        yield IMPLICIT["m0"]
    if fields.get("lds"):
        yield IMPLICIT["m0"]
    if opcode.format == "SCRATCH":
        yield IMPLICIT["flat_scratch"]
    if opcode.format == "SMEM" and opcode.operand("offset") is not None:
        if fields.get("soffset_en"):
            yield RegisterRange("s", fields["soffset"], 1)
        elif not fields["imm"]:
            yield RegisterRange("s", fields["offset"], 1)


def _needs_bound(opcode: Opcode, fields: dict[str, int], generation: Generation) -> bool:
    """Before GFX9, M0 holds the size of LDS; of GDS, and of counters, it holds the place."""
    if opcode.name in _SWIZZLES:
        return False
    counts = opcode.name in ("ds_append", "ds_consume")
    return generation is Generation.GFX8 or bool(fields["gds"]) or counts
