"""Entering and leaving a trap handler in memory (D1, "Trap Handler ABI").

``s_trap`` puts its own address and its number into ttmp0 and ttmp1, TBA and TMA are readable
(scalar registers before GFX9; on GFX9 only by s_getreg, which does not read them here), and the
wave continues at TBA; ``s_rfe_b64`` continues where its register pair says. A handler that returns
from a trap therefore adds 4. An access that memory refuses enters it too, with number 0, MEM_VIOL
in TRAPSTS and the address of the next instruction: the registers that the access was to load are as
they were, and instructions behind it may have been executed.

Invariant: a wave is inside of its handler from one to the other, and does not trap there.
Source: GCN3 instruction set architecture, "S_TRAP", "S_RFE_B64".
"""

from __future__ import annotations

from typing import Final

from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.program.faults import place_of
from gpu.compute_unit.wave.hardware_registers import MEM_VIOL, TRAPSTS
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.dispatch.launch import Fault
from gpu.generation import Generation
from gpu.isa.encoding.operands import FIRST_TTMP
from gpu.memory.address_space import Unmapped

_TBA: Final = 108
_PC_HIGH: Final = 0xFFFF


def enter(wave: Wavefront, decoded: DecodedInstruction) -> None:
    """Continue in the handler. Raises Fault for a trap in it."""
    if wave.in_handler:
        raise _fault(wave, decoded, "a trap handler does not trap")
    _enter(wave, decoded.instruction.address, decoded.value)


def violate(wave: Wavefront, error: Exception) -> bool:
    """Enter the handler because an access was refused; whether there is one that can be entered."""
    refused = isinstance(error, Unmapped | LaneError)
    if not refused or wave.in_handler or not wave.group.start.trap_handler[0]:
        return False
    wave.hardware[TRAPSTS] = wave.hardware.get(TRAPSTS, 0) | MEM_VIOL
    _enter(wave, wave.pc, 0)
    return True


def _enter(wave: Wavefront, address: int, number: int) -> None:
    wave.in_handler = True
    base, memory = wave.group.start.trap_handler
    first = FIRST_TTMP[wave.generation]
    if wave.generation is Generation.GFX8:
        for register, value in ((_TBA, base), (_TBA + 2, memory)):
            wave.sgprs[register] = value & 0xFFFF_FFFF
            wave.sgprs[register + 1] = value >> 32
    wave.sgprs[first] = address & 0xFFFF_FFFF
    wave.sgprs[first + 1] = address >> 32 & _PC_HIGH | (number & 0xFF) << 16
    wave.pc = base


def leave(wave: Wavefront, decoded: DecodedInstruction) -> None:
    """Continue where the instruction says. Raises Fault outside of a handler."""
    if not wave.in_handler:
        raise _fault(wave, decoded, "only a trap handler returns from an exception")
    wave.in_handler = False
    register = decoded.instruction.fields["ssrc0"]
    wave.pc = wave.sgprs[register] | (wave.sgprs[register + 1] & _PC_HIGH) << 32


def _fault(wave: Wavefront, decoded: DecodedInstruction, why: str) -> Fault:
    place = place_of(wave, decoded, decoded.instruction.address)
    return Fault(f"{place}: {why}", wave.group.start)
