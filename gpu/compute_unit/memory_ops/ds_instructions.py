"""DS instructions on the local data share: reads, writes, atomics, their pairs and widths.

GCN3 instruction set architecture, "LDS instructions". Offsets of the two-address forms count
elements, those of the ``st64`` forms 64 elements. Since GFX9 M0 is no bound of LDS, and registers
can be filled or stored by halves. Invariant: an access touches LDS only in `perform`, all of its
lanes at once; M0 is read when it is executed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu.compute_unit.memory_ops.access import DirectMemory, Operation
from gpu.compute_unit.memory_ops.access_shape import LaneMove
from gpu.compute_unit.memory_ops.ds_atomics import atomic_change, change_of
from gpu.compute_unit.memory_ops.ds_permute import Exchange
from gpu.compute_unit.wave.lane_values import (
    LaneError,
    Lanes,
    Registers,
    Values,
    lanes_of,
    read_upper_halves,
    read_values,
    write_halves,
    write_values,
)
from gpu.compute_unit.wave.lds import Change, MisalignedLocal, Place, place_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.instruction import Instruction
from gpu.isa.wave_registers import M0
from runtime.types.atomic_op import AtomicKind

_READS: Final = {
    "ds_read_u8": (1, False),
    "ds_read_i8": (1, True),
    "ds_read_u16": (2, False),
    "ds_read_i16": (2, True),
    "ds_read_b32": (4, False),
    "ds_read_b64": (8, False),
    "ds_read_b96": (12, False),
    "ds_read_b128": (16, False),
}
_WRITES: Final = {
    "ds_write_b8": 1,
    "ds_write_b16": 2,
    "ds_write_b32": 4,
    "ds_write_b64": 8,
    "ds_write_b96": 12,
    "ds_write_b128": 16,
}
_HALF_READS: Final = {
    f"ds_read_{name}_d16{ending}": (*_READS[f"ds_read_{name}"], half)
    for name in ("u8", "i8", "u16")
    for half, ending in enumerate(("", "_hi"))
}
_HALF_WRITES: Final = {"ds_write_b8_d16_hi": 1, "ds_write_b16_d16_hi": 2}
_COUNTS: Final = {"ds_append": AtomicKind.ADD, "ds_consume": AtomicKind.SUB}
_EXCHANGES: Final = ("ds_swizzle_b32", "ds_permute_b32", "ds_bpermute_b32")


class LocalAccess:
    """One DS instruction of a wave's active lanes in flight.

    ``places``: where the lanes go, twice for the two-address forms. ``size``: bytes at each.
    ``values``: what each place is given. ``results``: what each place held. ``half``: of a
    register that is loaded, None for whole ones.
    """

    __slots__ = (
        "bound",
        "change",
        "half",
        "lanes",
        "places",
        "register",
        "results",
        "signed",
        "size",
        "values",
        "wave",
    )

    def __init__(self, wave: Wavefront, lanes: Lanes, places: list[Place], size: int) -> None:
        self.wave = wave
        self.lanes = lanes
        self.places = places
        self.size = size
        before = wave.generation is Generation.GFX8
        self.bound = wave.sgprs[M0] if before else wave.group.lds.size
        self.values: list[Values] = []
        self.results: list[Values] = []
        self.change: Change | None = None
        self.register = -1
        self.signed = False
        self.half: int | None = None

    def perform(self, memory: DirectMemory | None = None) -> None:
        lds = self.wave.group.lds
        if self.change is not None:
            try:
                self._update(self.change)
            except MisalignedLocal as error:
                lane = int(self.lanes[error.row])
                raise LaneError(lane, str(error)) from error
        elif not self.values:
            self.results = [lds.load_at(place, self.size, self.bound) for place in self.places]
        else:
            for place, values in zip(self.places, self.values):
                lds.store_at(place, values, self.bound)

    def complete(self) -> None:
        register = self.register
        if register < 0:
            return
        if self.half is not None:
            values = self.results[0]
            write_halves(self.wave, register, values, self.lanes, self.signed, self.half)
            return
        for values in self.results:
            write_values(self.wave, register, _dwords(values), self.lanes, self.signed)
            register += max(1, self.size >> 2)

    def text(self) -> str:
        places = ", ".join(f"{int(place.offsets[0]):#x}" for place in self.places)
        return f"LDS {len(self.lanes)} lanes x {self.size} bytes from offset {places}"

    def _update(self, change: Change) -> None:
        lds = self.wave.group.lds
        if len(self.places) == 2:  # two exchanges
            for place, values in zip(self.places, self.values):
                self.results.append(lds.update(change, place.offsets, values, values, self.bound))
            return
        first, second = self.values[0], self.values[-1]
        offsets = self.places[0].offsets
        self.results = [lds.update(change, offsets, first, second, self.bound)]


class LocalOperation:
    """A bound DS instruction with storage."""

    __slots__ = (
        "_address",
        "_by_lane",
        "_change",
        "_data",
        "_half",
        "_offsets",
        "_register",
        "_registers",
        "_signed",
        "_size",
        "instruction",
    )

    def __init__(self, instruction: Instruction, size: int) -> None:
        fields = instruction.fields
        self.instruction = instruction
        self._registers = Registers(instruction)
        self._address = fields["addr"]
        self._by_lane = instruction.opcode.operand("addr") is None
        self._half: int | None = None
        self._size = size
        self._offsets = _offsets(instruction, size)
        self._data: tuple[int, ...] = ()
        self._register = -1
        self._signed = False
        self._change: Change | None = None

    def reads(self, signed: bool = False) -> LocalOperation:
        """Make it load into registers."""
        self._register = self.instruction.fields["vdst"]
        self._signed = signed
        return self

    def halves(self, half: int) -> LocalOperation:
        """Make it use one half of its register, and keep the other."""
        self._half = half
        return self

    def writes(self, *fields: str) -> LocalOperation:
        """Make it read its operands from the registers that these fields name."""
        self._data = tuple(self.instruction.fields[name] for name in fields)
        return self

    def changes(self, change: Change) -> LocalOperation:
        """Make it a read-modify-write."""
        self._change = change
        return self

    def lane_move(self) -> LaneMove | None:
        """None if it does more than to move bytes."""
        if self._by_lane or self._change is not None or self._half is not None:
            return None
        step = max(1, self._size >> 2)
        data = self._data or tuple(self._register + step * n for n in range(len(self._offsets)))
        return LaneMove(
            self._size,
            bool(self._data),
            self._signed,
            True,
            self._address,
            self._offsets,
            data,
            self._registers.needed,
        )

    def execute(self, wave: Wavefront) -> LocalAccess | None:
        if not wave.exec:
            return None
        self._registers.check(wave)
        lanes = lanes_of(wave.exec)
        if self._by_lane:  # a dword a lane, from M0 on
            address = ((wave.sgprs[M0] & 0xFFFF) + 4 * lanes).astype(np.uint32)
        else:
            address = wave.vgprs[self._address]
            if not wave.full:
                address = address[lanes]
        addresses = address.tobytes()
        places = [place_of(addresses, offset) for offset in self._offsets]
        access = LocalAccess(wave, lanes, places, self._size)
        access.register = self._register
        access.signed = self._signed
        access.change = self._change
        access.half = self._half
        read = read_values if self._half is None else read_upper_halves
        for register in self._data:
            values = read(wave, register, self._size, lanes)
            if self._change is not None and self._size == 8:
                values = values.view(np.uint64).reshape(-1)
            access.values.append(values)
        return access


class PairOperation:
    """A bound ``src2`` form: DS[A] changes by DS[B]; both addresses come from one register.

    B = A + 4 * offset, the offset from the instruction (15 bits, signed) or, if its bit 15 is
    set, from the upper bits of the address register.
    """

    __slots__ = ("_address", "_change", "_offset", "_size", "instruction")

    def __init__(self, instruction: Instruction, size: int, change: Change) -> None:
        fields = instruction.fields
        self.instruction = instruction
        self._address = fields["addr"]
        self._offset = fields["offset1"] << 8 | fields["offset0"]
        self._size = size
        self._change = change

    def execute(self, wave: Wavefront) -> PairAccess | None:
        if not wave.exec:
            return None
        lanes = lanes_of(wave.exec)
        address = wave.vgprs[self._address][lanes].astype(np.int64)
        if self._offset >> 15:
            distance = (address >> 17) - (address >> 31 << 15)
            address = address & 0xFFFF
        else:
            distance = np.full(len(lanes), (self._offset & 0x3FFF) - (self._offset & 0x4000))
        other = address + 4 * distance & 0xFFFF_FFFF
        places = [Place(address), Place(other)]
        return PairAccess(wave, lanes, places, self._size, self._change)


class PairAccess(LocalAccess):
    """DS[A] = change(DS[A], DS[B])."""

    __slots__ = ()

    def __init__(
        self, wave: Wavefront, lanes: Lanes, places: list[Place], size: int, change: Change
    ) -> None:
        super().__init__(wave, lanes, places, size)
        self.change = change

    def _update(self, change: Change) -> None:
        lds = self.wave.group.lds
        other = lds.load_at(self.places[1], self.size, self.bound)
        if self.size == 8:
            other = other.view(np.uint64).reshape(-1)
        lds.update(change, self.places[0].offsets, other, other, self.bound)


class CountOperation:
    """A bound ``ds_append`` or ``ds_consume``: a counter goes up or down by the active lanes, and
    each of them receives its old value.

    The counter is at M0 plus the offset; of M0 the lower half counts, which holds every address of
    LDS. M0 is no bound here.
    """

    __slots__ = ("_change", "_offset", "_register", "_registers", "instruction")

    def __init__(self, instruction: Instruction, change: Change) -> None:
        fields = instruction.fields
        self.instruction = instruction
        self._registers = Registers(instruction)
        self._offset = fields["offset1"] << 8 | fields["offset0"]
        self._register = fields["vdst"]
        self._change = change

    def execute(self, wave: Wavefront) -> CountAccess | None:
        if not wave.exec:
            return None
        self._registers.check(wave)
        place = Place(np.array([(wave.sgprs[M0] & 0xFFFF) + self._offset], np.int64))
        return CountAccess(wave, lanes_of(wave.exec), place, self._register, self._change)


class CountAccess(LocalAccess):
    """One access for the whole wave, made by its first active lane. ``receivers``: all active
    lanes."""

    __slots__ = ("receivers",)

    def __init__(
        self, wave: Wavefront, lanes: Lanes, place: Place, register: int, change: Change
    ) -> None:
        super().__init__(wave, lanes[:1], [place], 4)
        self.bound = wave.group.lds.size
        self.receivers = lanes
        self.register = register
        self.change = change
        self.values = [np.array([len(lanes)], np.uint32)]

    def complete(self) -> None:
        values = np.repeat(self.results[0], len(self.receivers))
        write_values(self.wave, self.register, values, self.receivers)


def bind_local(instruction: Instruction) -> Operation | None:
    """None for an instruction that is not implemented (global data share)."""
    name = instruction.name
    if instruction.fields.get("gds"):
        return None
    if name in _EXCHANGES:
        return Exchange(instruction)
    if name in _COUNTS:
        return CountOperation(instruction, atomic_change(_COUNTS[name]))
    if name in _READS:
        size, signed = _READS[name]
        return LocalOperation(instruction, size).reads(signed)
    if name in _WRITES:
        return LocalOperation(instruction, _WRITES[name]).writes("data0")
    if name in _HALF_READS:
        size, signed, half = _HALF_READS[name]
        return LocalOperation(instruction, size).reads(signed).halves(half)
    if name in _HALF_WRITES:
        return LocalOperation(instruction, _HALF_WRITES[name]).writes("data0").halves(1)
    if name == "ds_read_addtid_b32":
        return LocalOperation(instruction, 4).reads()
    if name == "ds_write_addtid_b32":
        return LocalOperation(instruction, 4).writes("data0")
    size = 8 if name.endswith("64") else 4
    if name.startswith("ds_read2"):
        return LocalOperation(instruction, size).reads()
    if name.startswith("ds_write2"):
        return LocalOperation(instruction, size).writes("data0", "data1")
    return _bind_change(instruction, size)


def _bind_change(instruction: Instruction, size: int) -> Operation | None:
    name = instruction.name.removeprefix("ds_")
    if "_src2_" in name:
        action, _, kind = name.partition("_src2_")
        change = change_of("wrxchg_" + kind if action == "write" else f"{action}_{kind}")
        return None if change is None else PairOperation(instruction, size, change)
    returns = "_rtn_" in name
    plain = name.replace("_rtn_", "_").replace("wrxchg2st64", "wrxchg").replace("wrxchg2", "wrxchg")
    change = change_of(plain)
    if change is None:
        return None
    two = plain.startswith(("mskor", "cmpst", "wrap")) or "wrxchg2" in name
    operation = LocalOperation(instruction, size).changes(change)
    operation.writes("data0", "data1") if two else operation.writes("data0")
    return operation.reads() if returns else operation


def _offsets(instruction: Instruction, size: int) -> tuple[int, ...]:
    low, high = instruction.fields["offset0"], instruction.fields["offset1"]
    name = instruction.name
    if "2st64_" in name:
        return 64 * size * low, 64 * size * high
    if name.startswith(("ds_read2", "ds_write2", "ds_wrxchg2")):
        return size * low, size * high
    return (high << 8 | low,)


def _dwords(values: Values) -> Values:
    """64-bit numbers as pairs of registers."""
    return values.view(np.uint32).reshape(-1, 2) if values.itemsize == 8 else values
