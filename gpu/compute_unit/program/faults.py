"""Failures of waves as text: kernel, group, wave, address of the instruction, its text, lanes.

Invariant: every error of a kernel becomes a `Fault`; only bugs of this package propagate unchanged.
"""

from __future__ import annotations

from typing import Final

from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.dispatch.launch import Fault
from gpu.isa.encoding.decoder import NotAnInstruction
from gpu.isa.encoding.operands import beyond
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.wave_registers import RegisterError
from gpu.memory.address_space import Unmapped

WAVE_ERRORS: Final = (
    LaneError,
    Unmapped,
    NotAnInstruction,
    NotImplementedInstruction,
    RegisterError,
    IndexError,
)
"""The errors that a kernel can cause. An IndexError is a vector register beyond those of the wave:
bound instructions do not check how many there are."""

LLVM_TRAP: Final = 2
IGNORED_TRAPS: Final = (1, 3)
"""A debugger's breakpoint and ``llvm.debugtrap``; without a debugger they do nothing."""


def fault_of(
    wave: Wavefront, decoded: DecodedInstruction | None, address: int, error: Exception
) -> Fault:
    """The failure of a wave at one instruction; ``decoded``: None if its code is invalid."""
    if isinstance(error, IndexError):
        given = len(wave.u32)
        register = decoded and beyond(decoded.instruction.reads, decoded.instruction.writes, given)
        if register is None:
            raise error
        error = RegisterError(f"the wave has {given} vector registers and no v{register}")
    return Fault(f"{place_of(wave, decoded, address)}: {error}", wave.group.start)


def place_of(wave: Wavefront, decoded: DecodedInstruction | None, address: int) -> str:
    """Wave, address and instruction, for the start of a message."""
    text = "" if decoded is None else f" `{decoded}`"
    return f"{wave}, at {address:#x}{text}{wave.line_text(address)}"


def trap_fault(wave: Wavefront, decoded: DecodedInstruction) -> Fault:
    """``s_trap`` with a number that stops the queue."""
    address = decoded.instruction.address
    if decoded.instruction.name != "s_trap":
        why = "only a trap handler returns from an exception"
    elif decoded.value == LLVM_TRAP:
        why = f"trap {LLVM_TRAP}: the program gave up (llvm.trap), its queue is stopped"
    else:
        why = f"trap {decoded.value} is reserved; 1 to 3 have a meaning"
    return Fault(f"{place_of(wave, decoded, address)}: {why}", wave.group.start)
