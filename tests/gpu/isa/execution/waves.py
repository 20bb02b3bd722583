"""Waves and words for tests."""

from __future__ import annotations

from gpu.generation import Generation
from gpu.isa import fp_environment
from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.binder import BOUND, bind
from gpu.isa.instruction import Instruction
from gpu.isa.wave_registers import ALL, Wave


def run(
    wave: Wave,
    *words: int,
    address: int = 0x1000,
    generation: Generation = Generation.GFX8,
) -> Wave:
    """Carry out one instruction as a compute unit would."""
    instruction = decode(words[0], words[1] if len(words) > 1 else None, address, generation)
    wave.pc = instruction.end
    with fp_environment.plain_afterwards():
        bind(instruction)(wave)
    return wave


def a_wave(vgprs: int = 32, exec: int = ALL) -> Wave:
    wave = Wave(vgprs, mode=0xC0)
    wave.set_exec(exec)
    return wave


def for_executor(instruction: Instruction) -> bool:
    """Whether the compute unit executes this, not a bound instruction."""
    return instruction.unit not in BOUND and instruction.opcode.tier == 1
