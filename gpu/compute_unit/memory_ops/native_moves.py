"""Loads and stores of lanes as calls of native code.

A move within one allocation, or within LDS, is carried out by cpp/moves.hpp of `gpu.isa.native`.
Whatever else there is (lanes in several allocations, doorbells, apertures, misaligned lanes, those
out of bounds, which also fail) is left to the bound instruction in Python, which then finds
everything as it was. On memory without time it is one call; a move in LDS can also be held, for
someone else to perform and complete it, and one in memory gathered: its addresses and data.
Invariant: a wave has the registers that `LaneMove.rows` says.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.memory_ops.access import AccessPart, Operation, VectorAccess
from gpu.compute_unit.memory_ops.access_shape import LaneMove
from gpu.compute_unit.memory_ops.ds_instructions import LocalOperation
from gpu.compute_unit.memory_ops.scalar_memory import read_pair
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.wave.lane_values import from_bytes, lanes_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.execution.instruction_writer import BoundInstruction
from gpu.isa.native.lane_functions import OnRows, lane_library
from gpu.isa.wave_registers import M0, Wave
from gpu.memory.address_space import Allocation
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import Extent
from gpu.wave_size import LANES

_MOVE: Final = struct.Struct("=QQQ8B")
"""The twin of Move in cpp/moves.hpp."""
_LOCAL, _WIDE, _BASED = range(3)
_EXEC, _START, _BASE, _SIZE, _BYTES, _OUTSIDE, _HELD, _EXTENT = range(8)
_WINDOW: Final = array("Q", bytes(88))
"""The twin of Window there. One thread at a time runs instructions."""
_ADDRESS: Final = _WINDOW.buffer_info()[0]

HELD: Final = 4192
_AT: Final = 96
_DWORDS: Final = 1120
_DATA: Final = 2144
"""Bytes of Held there, and where its arrays are."""


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


class HeldMove:
    """Room for a move in LDS between its steps. ``address``: of the room. ``move``: what is in it.
    ``fills``: the registers that this will fill, for the owner's use."""

    __slots__ = ("_bytes", "_room", "address", "fills", "move")

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(HELD)
        self._bytes = memoryview(self._room).cast("B")
        self.address = ctypes.addressof(self._room)
        self.fills = 0
        self.move: LocalHold | None = None

    def dwords(self, places: int, lanes: int) -> bytes:
        """The dwords of so many lanes, int64, counted from that of the first lane. The second place
        begins 8 * `LANES` bytes after the first."""
        return bytes(self._bytes[_DWORDS : _DWORDS + 8 * (LANES * (places - 1) + lanes)])

    def array(self, kind: npt.DTypeLike, start: int, count: int) -> npt.NDArray[Any]:
        """So many numbers from a byte of the room on."""
        return np.frombuffer(self._bytes, kind, count, start)


_GATHERED: Final = HeldMove()
_ADDRESSES: Final = _GATHERED.array(np.uint64, _AT, LANES)
_VALUES: Final = _GATHERED.array(np.uint8, _DATA, 16 * LANES)


class LocalHold:
    """A move in LDS whose first step is native. ``move``: what it is."""

    __slots__ = ("_hold", "_packed", "_rows", "move")

    def __init__(self, move: LaneMove, hold: OnRows) -> None:
        self.move = move
        self._rows = move.rows
        self._packed = _packed(move, _LOCAL)
        self._hold = hold

    def hold(self, wave: Wavefront, room: HeldMove) -> bool:
        """Read what it needs of the registers. False if Python has to execute it: no lane is
        active, one is misaligned or out of bounds, or the wave has too few registers."""
        if not wave.exec or self._rows > len(wave.u32):
            return False
        _look_at_lds(wave)
        _WINDOW[_HELD] = room.address
        room.move = self  # which native code refers to
        return bool(self._hold(self._packed, wave.address))


def local_hold_of(operation: Operation | None) -> LocalHold | None:
    """None if a memory instruction is no such move, or there is no native code."""
    library = lane_library()
    move = lane_move_of(operation)
    if library is None or move is None or not move.local:
        return None
    return LocalHold(move, library.hold)


class GatheredOperation:
    """An `Operation` of lanes in memory, executed by native code if that can. ``line_bits``: the
    logarithm of the size of a line."""

    __slots__ = ("_gather", "_line_bits", "_move", "_operation", "_packed", "instruction")

    def __init__(
        self, operation: VectorOperation, move: LaneMove, gather: OnRows, line_bits: int
    ) -> None:
        self.instruction = operation.instruction
        self._operation = operation
        self._move = move
        self._packed = _packed(move, _WIDE if move.base is None else _BASED)
        self._gather = gather
        self._line_bits = line_bits

    def execute(self, wave: Wavefront) -> VectorAccess | None:
        move = self._move
        if not wave.exec or move.rows > len(wave.u32):
            return self._operation.execute(wave)
        _WINDOW[_EXEC] = wave.exec
        _WINDOW[_START] = 0 if move.base is None else read_pair(wave, move.base)
        _WINDOW[_BASE] = self._line_bits
        flat = self.instruction.form == "FLAT"
        _WINDOW[_SIZE] = min(wave.apertures) if flat else 1 << 32
        _WINDOW[_HELD] = _GATHERED.address
        if not self._gather(self._packed, wave.address):
            return self._operation.execute(wave)
        lanes = lanes_of(wave.exec)
        count = len(lanes)
        part = AccessPart(_ADDRESSES[:count].copy(), move.bytes)
        part.extent = Extent._make(_WINDOW[_EXTENT:])
        access = self._operation.access(wave, lanes, [part])
        if move.stores:
            data = _VALUES[: count * move.bytes].copy()
            access.values = from_bytes(data.reshape(count, move.bytes))
        return access


def gathered(operation: Operation, line_bits: int) -> Operation:
    """The same operation, executed by native code if it is a move in memory."""
    library = lane_library()
    move = lane_move_of(operation)
    if library is None or move is None or not isinstance(operation, VectorOperation):
        return operation
    return GatheredOperation(operation, move, library.gather, line_bits)


def _look_at_lds(wave: Wavefront) -> None:
    lds = wave.group.lds
    bound = wave.sgprs[M0] if wave.generation is Generation.GFX8 else lds.size
    _WINDOW[_EXEC] = wave.exec
    _WINDOW[_START] = _WINDOW[_BASE] = 0
    _WINDOW[_SIZE] = bound if bound < lds.size else lds.size
    _WINDOW[_BYTES] = lds.address


def _local(move: LaneMove, carry_out: OnRows, slowly: BoundInstruction) -> BoundInstruction:
    packed = _packed(move, _LOCAL)

    def execute(wave: Wave) -> None:
        assert isinstance(wave, Wavefront)
        _look_at_lds(wave)
        if not carry_out(packed, wave.address):
            slowly(wave)

    return execute


def _global(
    move: LaneMove,
    carry_out: OnRows,
    slowly: BoundInstruction,
    memory: FlatMemory,
) -> BoundInstruction:
    packed, base = _packed(move, _WIDE if move.base is None else _BASED), move.base
    found: Allocation | None = None

    def carried_out(wave: Wave) -> bool:
        """Whether all lanes are in the allocation that was found last."""
        if found is None or not found.mapped:
            _WINDOW[_SIZE] = 0
        else:
            _WINDOW[_BASE] = found.start
            _WINDOW[_SIZE] = found.size
            _WINDOW[_BYTES] = memory.contents_of(found).address
        return bool(carry_out(packed, wave.address))

    def execute(wave: Wave) -> None:
        nonlocal found
        _WINDOW[_EXEC] = wave.exec
        _WINDOW[_START] = 0 if base is None else read_pair(wave, base)
        if carried_out(wave):
            return
        there = memory.space.find(_WINDOW[_OUTSIDE])
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


def _packed(move: LaneMove, address: int) -> ctypes.Array[ctypes.c_char]:
    offsets, data = (*move.offsets, 0)[:2], (*move.data, 0)[:2]
    return ctypes.create_string_buffer(
        _MOVE.pack(
            _ADDRESS, *offsets, move.bytes, len(move.offsets), move.stores, move.signed, address,
            move.address, *data,
        )
    )  # fmt: skip
