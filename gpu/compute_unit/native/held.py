"""Memory instructions that wait in native memory for the issue engine to carry them out.

The first step of an instruction, reading registers, is done when its wave runs ahead; the issue
engine does the others: LDS is accessed, or a request is sent and answered, and vector registers are
written. Python writes scalar registers, before the wave runs on. Whatever is more than that (lanes
that mean LDS or scratch, atomics, halves of registers, a scalar load out of bounds) is not held.

Invariant: a room belongs to one instruction from `Hold.begin` until its first word was seen to be
set.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.memory_ops.access import AccessPart, Operation, VectorAccess
from gpu.compute_unit.memory_ops.access_shape import LaneMove
from gpu.compute_unit.memory_ops.native_moves import (
    BASE_AT,
    EXEC_AT,
    HELD_AT,
    SIZE_AT,
    START_AT,
    lane_move_of,
    look_at_lds,
    packed_move,
    window,
)
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarOperation, read_pair
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.native.layout import RecordKind
from gpu.compute_unit.pipeline.lds_and_scalar import time_of_move
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.lane_values import from_bytes, lanes_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.native.lane_functions import OnRows, lane_library
from gpu.memory.coherent.request_splitting import piece_of
from gpu.memory.interface import Extent
from gpu.wave_size import LANES
from runtime.requesters.port import Scope

_MOST_FREE: Final = 1 << 12
"""Rooms of a kind that are kept for other instructions."""
_MOVE_BYTES: Final = 4232
_EXTENT, _LINES = 5, 7
"""Words of Held in cpp/held.hpp of `gpu.isa.native`, and bytes where its arrays begin."""
_AT: Final = 136
_DWORDS: Final = 1160
_DATA: Final = 2184

_SCALARS: Final = struct.Struct("=QQQQ")
"""The twin of HeldScalars there, but for the data: returned, address, piece, pieces."""
_SCALARS_BYTES: Final = _SCALARS.size + 64


class Room:
    """Where an instruction waits. ``address``: of the room. ``words``: in it; the first one says
    whether the issue engine is done. ``decoded``, ``fills``: the instruction and the registers that
    it will fill, for the owner's use."""

    __slots__ = ("_bytes", "_room", "address", "decoded", "fills", "words")
    decoded: DecodedInstruction
    size: ClassVar[int]
    free: ClassVar[list[Any]]

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(self.size)
        self._bytes = memoryview(self._room).cast("B")
        self.words = self._bytes.cast("Q")
        self.address = ctypes.addressof(self._room)
        self.fills = 0

    @classmethod
    def take(cls) -> Self:
        """One that nothing is in."""
        room: Self = cls.free.pop() if cls.free else cls()
        return room

    def give_back(self) -> None:
        """Nothing is in it any more."""
        if len(self.free) < _MOST_FREE:
            self.free.append(self)

    def access(self, wave: Wavefront) -> VectorAccess | ScalarAccess:
        """What is held, for Python to carry out."""
        raise NotImplementedError

    def finish(self, wave: Wavefront) -> None:
        """The access has returned: write what registers are left, and give the room back."""
        self.give_back()


class Hold(Protocol):
    """A memory instruction that can be held. ``kind``: of its records."""

    kind: RecordKind

    def begin(self, wave: Wavefront) -> Room | None:
        """Read what it needs of the registers. None if Python has to execute it; it is then as if
        this had not been called."""

    def numbers(self, room: Any, wave: Wavefront, timing: Timing) -> tuple[int, int]:
        """Value and amount of its record, just begun: see `RecordKind`."""


class HeldMove(Room):
    """Room for a load or store of lanes. ``hold``: what is in it, which native code refers to.
    ``exec``: the lanes of one in memory."""

    __slots__ = ("exec", "hold")
    hold: LocalHold | GlobalHold
    exec: int
    size = _MOVE_BYTES
    free: ClassVar[list[HeldMove]] = []

    def dwords(self, places: int, lanes: int) -> bytes:
        """The dwords of so many lanes in LDS, int64, counted from that of the first lane. The
        second place begins 8 * `LANES` bytes after the first."""
        return bytes(self._bytes[_DWORDS : _DWORDS + 8 * (LANES * (places - 1) + lanes)])

    def access(self, wave: Wavefront) -> VectorAccess:
        assert isinstance(self.hold, GlobalHold), "LDS is accessed by native code"
        return self.hold.access(wave, self)

    def part(self, lanes: int, size: int) -> AccessPart:
        """The addresses of so many lanes in memory."""
        part = AccessPart(self._array(np.uint64, _AT, lanes), size)
        part.extent = Extent._make(self.words[_EXTENT : _EXTENT + 4])
        return part

    def data(self, lanes: int, size: int) -> npt.NDArray[np.uint8]:
        """What a store stores, a row a lane."""
        return self._array(np.uint8, _DATA, lanes * size).reshape(lanes, size)

    def _array(self, kind: npt.DTypeLike, start: int, count: int) -> npt.NDArray[Any]:
        return np.frombuffer(self._bytes, kind, count, start).copy()


class LocalHold:
    """A load or store of lanes in LDS. ``move``: what it is."""

    __slots__ = ("_hold", "_packed", "_rows", "move")
    kind = RecordKind.LOCAL_HELD

    def __init__(self, move: LaneMove, hold: OnRows) -> None:
        self.move = move
        self._rows = move.rows
        self._packed = packed_move(move)
        self._hold = hold

    def begin(self, wave: Wavefront) -> HeldMove | None:
        if not wave.exec or self._rows > len(wave.u32):
            return None
        room = HeldMove.take()
        look_at_lds(wave)
        window[HELD_AT] = room.address
        if not self._hold(self._packed, wave.address):
            room.give_back()
            return None
        room.hold = self
        return room

    def numbers(self, room: HeldMove, wave: Wavefront, timing: Timing) -> tuple[int, int]:
        lanes, places, size = wave.exec.bit_count(), len(self.move.offsets), self.move.bytes
        dwords = room.dwords(places, lanes)
        cycles, conflicts = time_of_move(dwords, lanes, places, size, timing.conflict_lanes)
        return conflicts, cycles


class GlobalHold:
    """A load or store of lanes in memory. ``line_bits``: the logarithm of the size of a line."""

    __slots__ = ("_flat", "_gather", "_line_bits", "_move", "_operation", "_packed", "_scope")
    kind = RecordKind.VECTOR_HELD

    def __init__(
        self, operation: VectorOperation, move: LaneMove, gather: OnRows, line_bits: int
    ) -> None:
        self._scope = Scope.GLC * operation.glc | Scope.SLC * operation.slc
        self._operation = operation
        self._flat = operation.instruction.form == "FLAT"
        self._move = move
        self._packed = packed_move(move)
        self._gather = gather
        self._line_bits = line_bits

    def begin(self, wave: Wavefront) -> HeldMove | None:
        move = self._move
        if not wave.exec or move.rows > len(wave.u32):
            return None
        room = HeldMove.take()
        window[EXEC_AT] = room.exec = wave.exec
        window[START_AT] = 0 if move.base is None else read_pair(wave, move.base)
        window[BASE_AT] = self._line_bits
        window[SIZE_AT] = min(wave.apertures) if self._flat else 1 << 32
        window[HELD_AT] = room.address
        if not self._gather(self._packed, wave.address):
            room.give_back()
            return None
        room.hold = self
        return room

    def numbers(self, room: HeldMove, wave: Wavefront, timing: Timing) -> tuple[int, int]:
        return self._scope, room.words[_LINES]

    def access(self, wave: Wavefront, room: HeldMove) -> VectorAccess:
        """What `VectorOperation.execute` would have made when it was held."""
        lanes, size = lanes_of(room.exec), self._move.bytes
        access = self._operation.access(wave, lanes, [room.part(len(lanes), size)])
        if self._move.stores:
            access.values = from_bytes(room.data(len(lanes), size))
        return access

    def execute(self, wave: Wavefront) -> VectorAccess | None:
        """As `VectorOperation.execute`, by way of native memory where that can hold the access."""
        room = self.begin(wave)
        if room is None:
            return self._operation.execute(wave)
        access = self.access(wave, room)
        room.give_back()
        return access


class HeldScalars(Room):
    """Room for a load of scalar registers."""

    __slots__ = ("_dwords", "load")
    load: ScalarAccess
    size = _SCALARS_BYTES
    free: ClassVar[list[HeldScalars]] = []

    def __init__(self) -> None:
        super().__init__()
        self._dwords = self._bytes[_SCALARS.size :].cast("I")

    def hold(self, load: ScalarAccess, piece: int) -> None:
        """Hold a load that its port takes in pieces of so many bytes."""
        self.load = load
        _SCALARS.pack_into(self._room, 0, 0, load.address, piece, 4 * load.count // piece)

    def access(self, wave: Wavefront) -> ScalarAccess:
        return self.load

    def finish(self, wave: Wavefront) -> None:
        load = self.load
        load.dwords = self._dwords[: load.count].tolist()
        load.complete()
        self.give_back()


class ScalarHold:
    """A load of scalar registers."""

    __slots__ = ("_line_size", "_operation", "_scope")
    kind = RecordKind.SCALAR_HELD

    def __init__(self, operation: ScalarOperation, line_size: int) -> None:
        self._scope = Scope.GLC * operation.glc
        self._operation = operation
        self._line_size = line_size

    def begin(self, wave: Wavefront) -> HeldScalars | None:
        load = self._operation.execute(wave)
        if not load.count:
            return None
        room = HeldScalars.take()
        offset = load.address & self._line_size - 1
        room.hold(load, piece_of(offset, 4 * load.count, self._line_size))
        return room

    def numbers(self, room: HeldScalars, wave: Wavefront, timing: Timing) -> tuple[int, int]:
        return self._scope, 1


def hold_of(operation: Operation | None, line_bits: int) -> Hold | None:
    """None if a memory instruction cannot be held, or there is no native code."""
    if isinstance(operation, ScalarOperation):
        return ScalarHold(operation, 1 << line_bits) if operation.loads else None
    library = lane_library()
    move = lane_move_of(operation)
    if library is None or move is None:
        return None
    if isinstance(operation, VectorOperation):
        return GlobalHold(operation, move, library.gather, line_bits)
    return LocalHold(move, library.hold)
