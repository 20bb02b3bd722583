"""Loads and stores of lanes as calls of native code.

A move within one allocation, or within LDS, is carried out by cpp/moves.hpp of `gpu.isa.native`.
Whatever else there is (lanes in several allocations, doorbells, apertures, misaligned lanes, those
out of bounds, which also fail) is left to the bound instruction in Python, which then finds
everything as it was. `gpu.compute_unit.native.held` has the issue engine do the later steps.
Invariant: a wave has the registers that `LaneMove.rows` says.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from typing import Final

from gpu.compute_unit.memory_ops.access import Operation
from gpu.compute_unit.memory_ops.access_shape import LaneMove
from gpu.compute_unit.memory_ops.ds_instructions import LocalOperation
from gpu.compute_unit.memory_ops.scalar_memory import read_pair
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.execution.instruction_writer import BoundInstruction
from gpu.isa.native.lane_functions import OnRows, lane_library
from gpu.isa.wave_registers import M0, Wave
from gpu.memory.address_space import Allocation
from gpu.memory.flat_memory import FlatMemory

_MOVE: Final = struct.Struct("=QQQ8B")
"""The twin of Move in cpp/held.hpp."""
_LOCAL, _WIDE, _BASED = range(3)
EXEC_AT, START_AT, BASE_AT, SIZE_AT, BYTES_AT, OUTSIDE_AT, HELD_AT, _FIELDS = range(8)
"""Places in `window`: the fields of Window in cpp/held.hpp."""
window: Final = array("Q", bytes(8 * _FIELDS))
"""Where a wave's move may go. One thread at a time runs instructions."""
_ADDRESS: Final = window.buffer_info()[0]


def lane_move_of(operation: Operation | None) -> LaneMove | None:
    """The move that a memory instruction is; None if it is more than that."""
    if isinstance(operation, (VectorOperation, LocalOperation)):
        return operation.lane_move()
    return None


def bind_move(move: LaneMove, slowly: BoundInstruction, memory: object) -> BoundInstruction:
    """A move as native code; ``slowly`` where there is none."""
    library = lane_library()
    if library is None:
        return slowly
    if move.local:
        return _local(move, library.move, slowly)
    if isinstance(memory, FlatMemory):
        return _global(move, library.move, slowly, memory)
    return slowly


def look_at_lds(wave: Wavefront) -> None:
    """Let the window be the LDS that instructions of a wave may access."""
    lds = wave.group.lds
    bound = wave.sgprs[M0] if wave.generation is Generation.GFX8 else lds.size
    window[EXEC_AT] = wave.exec
    window[START_AT] = window[BASE_AT] = 0
    window[SIZE_AT] = bound if bound < lds.size else lds.size
    window[BYTES_AT] = lds.address


def _local(move: LaneMove, carry_out: OnRows, slowly: BoundInstruction) -> BoundInstruction:
    packed = packed_move(move)

    def execute(wave: Wave) -> None:
        assert isinstance(wave, Wavefront)
        look_at_lds(wave)
        if not carry_out(packed, wave.address):
            slowly(wave)

    return execute


def _global(
    move: LaneMove,
    carry_out: OnRows,
    slowly: BoundInstruction,
    memory: FlatMemory,
) -> BoundInstruction:
    packed, base = packed_move(move), move.base
    found: Allocation | None = None

    def carried_out(wave: Wave) -> bool:
        """Whether all lanes are in the allocation that was found last."""
        if found is None or not found.mapped:
            window[SIZE_AT] = 0
        else:
            window[BASE_AT] = found.start
            window[SIZE_AT] = found.size
            window[BYTES_AT] = memory.contents_of(found).address
        return bool(carry_out(packed, wave.address))

    def execute(wave: Wave) -> None:
        nonlocal found
        window[EXEC_AT] = wave.exec
        window[START_AT] = 0 if base is None else read_pair(wave, base)
        if carried_out(wave):
            return
        there = memory.space.find(window[OUTSIDE_AT])
        if there is not None and there is not found and _plain(there, move, wave):
            found = there
            if carried_out(wave):
                return
        slowly(wave)

    return execute


def _plain(there: Allocation, move: LaneMove, wave: Wave) -> bool:
    """Whether the bytes of an allocation are all that a move there concerns."""
    if there.on_store is not None or (move.stores and not there.writable):
        return False
    return there.end >> 32 < min(wave.apertures)


def packed_move(move: LaneMove) -> ctypes.Array[ctypes.c_char]:
    """Move of cpp/held.hpp, in `window`."""
    address = _LOCAL if move.local else _WIDE if move.base is None else _BASED
    offsets, data = (*move.offsets, 0)[:2], (*move.data, 0)[:2]
    return ctypes.create_string_buffer(
        _MOVE.pack(
            _ADDRESS, *offsets, move.bytes, len(move.offsets), move.stores, move.signed, address,
            move.address, *data,
        )
    )  # fmt: skip
