"""Which registers an instruction uses when M0 is part of their number.

Moves of the ``movrel`` family add M0 to the number of their source or of their destination, and so
do vector instructions in GPR-index mode; tables only know what is written in the instruction.
Invariant: called before the instruction is executed.
"""

from __future__ import annotations

from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.encoding.operands import beyond
from gpu.isa.execution.index_mode import moved
from gpu.isa.instruction import Instruction, RegisterRange
from gpu.isa.wave_registers import M0

Ranges = tuple[RegisterRange, ...]


def resolved(wave: Wavefront, instruction: Instruction) -> Instruction:
    """The instruction that one in GPR-index mode is; itself, if it fails because the wave does not
    have the registers."""
    if not instruction.indexed:
        return instruction
    there = moved(instruction, wave.sgprs[M0])
    missing = beyond(there.reads, there.writes, len(wave.vgprs))
    return instruction if missing is not None else there


def used(wave: Wavefront, instruction: Instruction) -> tuple[Ranges, Ranges]:
    """The registers it reads and writes; those that the wave does not have are omitted."""
    instruction = resolved(wave, instruction)
    name = instruction.name
    if "_movrel" not in name:
        return instruction.reads, instruction.writes
    reads, writes = instruction.reads, instruction.writes
    by = wave.sgprs[M0]
    if "movrels" in name:
        file = name[0]
        reads = tuple(
            each._replace(first=each.first + by) if each.file == file and each.first != M0 else each
            for each in reads
        )
    if not name.startswith(("v_movrels_", "s_movrels_")):
        writes = tuple(each._replace(first=each.first + by) for each in writes)
    return _there(wave, reads), _there(wave, writes)


def _there(wave: Wavefront, ranges: Ranges) -> Ranges:
    limits = {"v": len(wave.vgprs), "s": 128}
    return tuple(
        each for each in ranges if each.first + each.size <= limits.get(each.file, 1 << 32)
    )
