"""Loads, stores and atomics of lanes (FLAT and its segments, MUBUF): which lanes go where, with
what data.

Addresses: GCN3 and Vega instruction set architectures, "Flat memory instructions" and "Buffer
addressing";
AMDGPU usage guide, "Address spaces" for the apertures and the swizzle of scratch. Invariant: the
lanes of one part differ in address only, and every byte of an access is in one part at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gpu.compute_unit.memory_ops.access import AccessPart, VectorAccess
from gpu.compute_unit.memory_ops.access_shape import LaneMove, Movement
from gpu.compute_unit.memory_ops.scalar_memory import read_pair, scalar_source
from gpu.compute_unit.wave.lane_values import (
    Addresses,
    LaneError,
    Lanes,
    Registers,
    Values,
    lanes_of,
    read_upper_halves,
    read_values,
)
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.encoding.operands import FLAT_SCRATCH, NO_BASE, offset_of
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.instruction import Instruction
from gpu.isa.wave_registers import M0
from gpu.wave_size import LANES
from runtime.requesters.port import AccessKind

FindParts = Callable[[Wavefront, Lanes, int], list[AccessPart]]
"""Wave, active lanes, bytes a lane: the parts of the access."""

_LOW_HALF: Final = np.uint64(0xFFFF_FFFF)
_ALL: Final = (1 << 64) - 1


class VectorOperation:
    """A bound instruction that moves data of lanes."""

    __slots__ = (
        "_data",
        "_find",
        "_register",
        "_registers",
        "_returns",
        "_to_lds",
        "glc",
        "instruction",
        "move",
        "slc",
    )

    def __init__(self, instruction: Instruction, move: Movement, find: FindParts) -> None:
        fields = instruction.fields
        flat = "vdata" not in fields
        self.instruction = instruction
        self._registers = Registers(instruction)
        self.move = move
        self._find = find
        self._data = fields["data" if flat else "vdata"]
        self._register = fields["vdst"] if flat else self._data
        self.glc = bool(fields["glc"])
        self.slc = bool(fields["slc"])
        self._to_lds = fields["offset"] if fields.get("lds") else None
        atomic = move.kind == AccessKind.ATOMIC
        self._returns = move.kind == AccessKind.LOAD or (atomic and self.glc)

    def lane_move(self) -> LaneMove | None:
        """None if it does more than to move bytes to or from addresses in registers."""
        move, fields = self.move, self.instruction.fields
        if move.atomic or move.half is not None or self._to_lds is not None:
            return None
        if self.instruction.form not in ("FLAT", "GLOBAL"):
            return None
        base = fields.get("saddr", NO_BASE) if self.instruction.form == "GLOBAL" else NO_BASE
        stores = move.kind == AccessKind.STORE
        return LaneMove(
            move.bytes,
            stores,
            move.signed,
            False,
            fields["addr"],
            (offset_of(self.instruction) & _ALL,),
            (self._data if stores else self._register,),
            self._registers.needed,
            None if base == NO_BASE else base,
        )

    def execute(self, wave: Wavefront) -> VectorAccess | None:
        if not wave.exec:
            return None
        self._registers.check(wave)
        lanes = lanes_of(wave.exec)
        move = self.move
        access = self.access(wave, lanes, self._find(wave, lanes, move.bytes))
        if self._to_lds is not None:
            access.local_base = (wave.sgprs[M0] & 0xFFFF) + self._to_lds
        if move.kind != AccessKind.LOAD:
            read = read_values if move.half is None else read_upper_halves
            access.values = read(wave, self._data, move.bytes, lanes)
            if move.compares:
                behind = self._data + move.bytes // 4
                access.compares = read_values(wave, behind, move.bytes, lanes)
        return access

    def access(self, wave: Wavefront, lanes: Lanes, parts: list[AccessPart]) -> VectorAccess:
        """What `execute` makes, but for data."""
        access = VectorAccess(wave, self.move, lanes, parts, self._register, self._returns)
        access.glc = self.glc
        access.slc = self.slc
        return access


def flat_parts(instruction: Instruction) -> FindParts:
    """Parts of a FLAT access: 64-bit addresses of which some may mean LDS or scratch."""
    register = instruction.fields["addr"]
    offset = np.uint64(offset_of(instruction))

    def find(wave: Wavefront, lanes: Lanes, size: int) -> list[AccessPart]:
        pairs = _pairs(wave, register, lanes)
        # A bitwise or is at least the largest of the numbers, and cheaper than comparing them.
        if int(np.bitwise_or.reduce(pairs[:, 1])) < min(wave.apertures):
            return [AccessPart(pairs.view(np.uint64)[:, 0] + offset, size)]
        return _split(wave, pairs, offset, size)

    return find


def _pairs(wave: Wavefront, register: int, lanes: Lanes) -> Values:
    """The lanes' values of two registers, a row a lane."""
    pairs = np.empty((len(lanes), 2), np.uint32)
    for place in (0, 1):
        row = wave.vgprs[register + place]
        pairs[:, place] = row if len(lanes) == LANES else row[lanes]
    return pairs


def global_parts(instruction: Instruction) -> FindParts:
    """The part of a GLOBAL access: 64-bit addresses, or 32-bit offsets from a scalar base."""
    fields = instruction.fields
    register, base = fields["addr"], fields["saddr"]
    offset = offset_of(instruction) & _ALL

    def addressed(wave: Wavefront, lanes: Lanes, size: int) -> list[AccessPart]:
        addresses = _pairs(wave, register, lanes).view(np.uint64)[:, 0]
        return [AccessPart(addresses + np.uint64(offset), size)]

    def based(wave: Wavefront, lanes: Lanes, size: int) -> list[AccessPart]:
        start = np.uint64(read_pair(wave, base) + offset & _ALL)
        return [AccessPart(wave.vgprs[register][lanes].astype(np.uint64) + start, size)]

    return addressed if base == NO_BASE else based


def scratch_parts(instruction: Instruction) -> FindParts:
    """Parts of a SCRATCH access: offsets in the work-items' private segments."""
    fields = instruction.fields
    register, base = fields["addr"], fields["saddr"]
    offset = np.uint64(offset_of(instruction) & _ALL)

    def find(wave: Wavefront, lanes: Lanes, size: int) -> list[AccessPart]:
        if base == NO_BASE:
            offsets = wave.vgprs[register][lanes].astype(np.uint64) + offset
        else:
            offsets = np.full(len(lanes), wave.sgprs[base], np.uint64) + offset
        return _scratch_parts(wave, offsets & _LOW_HALF, np.arange(len(lanes)), size)

    return find


def _split(wave: Wavefront, pairs: Values, offset: np.uint64, size: int) -> list[AccessPart]:
    """Split lanes into those to LDS, to scratch and to global memory."""
    addresses, upper = pairs.view(np.uint64)[:, 0] + offset, pairs[:, 1]
    start = wave.group.start
    local = (upper == start.shared_aperture) & bool(start.shared_aperture)
    private = (upper == start.private_aperture) & bool(start.private_aperture)
    parts: list[AccessPart] = []
    rows = np.flatnonzero(~(local | private))
    if len(rows):
        parts.append(AccessPart(addresses[rows], size, rows))
    rows = np.flatnonzero(local)
    if len(rows):
        parts.append(AccessPart(addresses[rows] & _LOW_HALF, size, rows, local=True))
    rows = np.flatnonzero(private)
    if len(rows):
        parts += _scratch_parts(wave, addresses[rows] & _LOW_HALF, rows, size)
    return parts


def _scratch_parts(wave: Wavefront, offsets: Addresses, rows: Lanes, size: int) -> list[AccessPart]:
    """Private bytes lie swizzled: dword i of lane l at 256 i + 4 l of the wave's slice."""
    lanes = lanes_of(wave.exec)[rows].astype(np.uint64)
    base = np.uint64(flat_scratch_base(wave)) + np.uint64(4) * lanes
    if int(offsets.max()) + size > wave.private_bytes:
        worst = int(np.argmax(offsets))
        raise LaneError(
            int(lanes[worst]),
            f"{size} bytes at private offset {int(offsets[worst]):#x}, but a work-item's private "
            f"segment has {wave.private_bytes:#x} bytes",
        )
    piece = _piece(offsets, size)
    return [
        AccessPart(base + _swizzled(offsets + np.uint64(first)), piece, rows, first)
        for first in range(0, size, piece)
    ]


def flat_scratch_base(wave: Wavefront) -> int:
    """Address of the wave's slice, which FLAT_SCRATCH holds on GFX9; before, its upper half counts
    units of 256 bytes from the hidden base."""
    if wave.generation is Generation.GFX9:
        return read_pair(wave, FLAT_SCRATCH)
    return wave.group.start.hidden_private_base + (wave.sgprs[FLAT_SCRATCH + 1] << 8)


def _swizzled(offsets: Addresses) -> Addresses:
    return (offsets >> np.uint64(2) << np.uint64(8)) + (offsets & np.uint64(3))


def _piece(offsets: Addresses, size: int) -> int:
    """Bytes that stay together: dwords when they are aligned, else single bytes."""
    if size <= 4 and not int(np.bitwise_or.reduce(offsets)) & (size - 1):
        return size
    return 1 if int(np.bitwise_or.reduce(offsets)) & 3 else 4


def buffer_parts(instruction: Instruction) -> FindParts:
    """Parts of a MUBUF access: base, stride and bounds from a V#, offsets from the instruction.

    Loads and stores of several dwords are within bounds dword by dword, all other accesses as a
    whole (GCN3 and Vega instruction set architectures, "Range checking").
    """
    fields = instruction.fields
    resource = 4 * fields["srsrc"]
    scalar = scalar_source(fields["soffset"])
    constant = np.uint64(fields["offset"])
    indexed, offset_given = bool(fields["idxen"]), bool(fields["offen"])
    vaddr = fields["vaddr"]
    offset_register = vaddr + 1 if indexed else vaddr
    several = "_dwordx" in instruction.name
    by_index = indexed if instruction.generation is Generation.GFX9 else None

    def find(wave: Wavefront, lanes: Lanes, size: int) -> list[AccessPart]:
        words = wave.sgprs[resource : resource + 4]
        offsets = np.full(len(lanes), constant, np.uint64)
        if offset_given:
            offsets += wave.vgprs[offset_register][lanes]
        index = np.zeros(len(lanes), np.uint64)
        if indexed:
            index += wave.vgprs[vaddr][lanes]
        buffer = Buffer(words, by_index)
        if buffer.adds_lane:
            index += lanes.astype(np.uint64)
        return buffer.parts(index, offsets, scalar(wave), size, 4 if several else size)

    return find


class Buffer:
    """A V#: where a buffer is and how its elements lie.

    ``adds_lane``: the lane's number is part of the index (ADD_TID_ENABLE); the field of the data
    format then holds the upper four bits of the stride.
    ``by_index``: whether NUM_RECORDS counts records, and the index is compared with it, for a
    buffer with a stride; else it counts bytes. None: if it is swizzled, as on GFX8, which alone has
    elements of other sizes than 4 bytes (GCN3 and Vega instruction set architectures, "Buffer
    resource descriptor").
    """

    __slots__ = (
        "adds_lane", "base", "by_index", "element", "index_stride", "records", "stride", "swizzled",
    )  # fmt: skip

    def __init__(self, words: list[int], by_index: bool | None) -> None:
        self.base = words[0] | (words[1] & 0xFFFF) << 32
        self.adds_lane = bool(words[3] >> 23 & 1)
        self.stride = words[1] >> 16 & 0x3FFF
        if self.adds_lane:
            self.stride |= (words[3] >> 15 & 0xF) << 14
        self.swizzled = bool(words[1] >> 31)
        self.by_index = bool(self.stride) and (self.swizzled if by_index is None else by_index)
        self.records = words[2]
        self.element = 2 << (words[3] >> 19 & 3) if by_index is None else 4
        self.index_stride = 8 << (words[3] >> 21 & 3)

    def parts(
        self, index: Addresses, offsets: Addresses, scalar: int, size: int, unit: int
    ) -> list[AccessPart]:
        """The bytes within bounds; others load zero and are not stored.

        Each ``unit`` bytes of a lane are checked on their own. Offsets ascend, so the first ones
        are within bounds; lanes that have as many share their parts.
        """
        if self._inside(index, offsets, scalar, size).all():
            return self._placed(index, offsets, scalar, size, None)
        within = np.zeros(len(index), np.intp)
        ends = range(unit, size + 1, unit)
        for end in ends:
            within[self._inside(index, offsets, scalar, end)] = end
        parts: list[AccessPart] = []
        for end in ends:
            rows = np.flatnonzero(within == end)
            if len(rows):
                parts += self._placed(index[rows], offsets[rows], scalar, end, rows)
        return parts

    def _placed(
        self, index: Addresses, offsets: Addresses, scalar: int, size: int, rows: Lanes | None
    ) -> list[AccessPart]:
        """The first ``size`` bytes of some lanes.

        A swizzled access of more than one element is cut into dwords, or into bytes when they
        are not aligned. What becomes of a dword in elements of 2 bytes is not documented: raises
        NotImplementedInstruction.
        """
        base = np.uint64(self.base + scalar & (1 << 48) - 1)
        if not self.swizzled:
            return [AccessPart(base + offsets + index * np.uint64(self.stride), size, rows)]
        piece = _piece(offsets, size)
        if size > self.element == 2:
            raise NotImplementedInstruction(
                f"not implemented: {size} bytes at once in a swizzled buffer of 2-byte elements"
            )
        return [
            AccessPart(base + self._swizzle(index, offsets + np.uint64(first)), piece, rows, first)
            for first in range(0, size, piece)
        ]

    def _inside(
        self, index: Addresses, offsets: Addresses, scalar: int, size: int
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if self.by_index:
            inside = index < self.records
            return inside & (offsets + np.uint64(size) <= self.stride) if self.swizzled else inside
        ends = offsets + index * np.uint64(self.stride) + np.uint64(size)
        return ends <= max(self.records - scalar, 0)

    def _swizzle(self, index: Addresses, offsets: Addresses) -> Addresses:
        """Elements of ``index_stride`` neighbours side by side."""
        element, group = np.uint64(self.element), np.uint64(self.index_stride)
        rows = index // group * np.uint64(self.stride) + offsets // element * element
        place: Addresses = rows * group + index % group * element + offsets % element
        return place


FIND_PARTS: Final[dict[str, Callable[[Instruction], FindParts]]] = {
    "FLAT": flat_parts,
    "GLOBAL": global_parts,
    "SCRATCH": scratch_parts,
    "MUBUF": buffer_parts,
}
"""By format: what finds the parts of an access."""
