"""Scalar operands, and SMEM: loads and stores of scalar registers, cache maintenance, clocks.

GCN3 and Vega instruction set architectures, "Scalar memory". Invariant: a scalar access is at a
multiple of 4 bytes (the two lowest address bits are ignored), and every instruction here counts in
``lgkm``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from gpu.compute_unit.memory_ops.access import DirectMemory
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.encoding.constants import constant
from gpu.isa.encoding.operands import offset_of
from gpu.isa.instruction import Instruction
from gpu.isa.operand_types import TYPES
from gpu.isa.wave_registers import EXEC, Wave

DWORDS: Final = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}


ReadScalar = Callable[[Wave], int]

_CONDITIONS: Final[dict[int, ReadScalar]] = {
    251: lambda wave: int(not (wave.sgprs[106] or wave.sgprs[107])),
    252: lambda wave: int(not wave.exec),
    253: lambda wave: wave.scc,
}
"""VCCZ, EXECZ and SCC."""


def scalar_source(code: int) -> ReadScalar:
    """The 32-bit value that an operand code names: a register, or a number in the code itself."""
    if code < 128:
        return lambda wave: wave.sgprs[code]
    number = constant(code, TYPES["b32"])
    if number is not None:
        return lambda wave: number
    return _CONDITIONS[code]


def read_pair(wave: Wave, first: int) -> int:
    """64 bits from two scalar registers."""
    return wave.sgprs[first] | wave.sgprs[first + 1] << 32


class ScalarKind(Enum):
    """What a scalar memory instruction does."""

    LOAD = "load"
    STORE = "store"
    INVALIDATE = "invalidate"
    WRITE_BACK = "write back"
    CLOCK = "clock"


class ScalarAccess:
    """One scalar memory instruction in flight.

    ``count``: dwords within bounds, of ``wanted`` ones. ``dwords``: what is stored, or was
    loaded. ``clock``: reads the time for `ScalarKind.CLOCK`.
    """

    __slots__ = ("address", "count", "dwords", "glc", "kind", "register", "wanted", "wave")

    def __init__(self, wave: Wavefront, kind: ScalarKind, register: int, wanted: int) -> None:
        self.wave = wave
        self.kind = kind
        self.register = register
        self.wanted = wanted
        self.count = wanted
        self.address = 0
        self.dwords: list[int] = []
        self.glc = False

    def perform(self, memory: DirectMemory) -> None:
        if self.kind is ScalarKind.LOAD:
            self.dwords = memory.load_dwords(self.address, self.count) if self.count else []
        elif self.kind is ScalarKind.STORE and self.count:
            memory.store_dwords(self.address, self.dwords[: self.count])

    def text(self) -> str:
        if self.count and self.address:
            return f"scalar {self.kind.value} {4 * self.count} bytes at {self.address:#x}"
        return f"scalar {self.kind.value}"

    def set_clock(self, time: int) -> None:
        """The value of the clock."""
        self.dwords = [time & 0xFFFF_FFFF, time >> 32 & 0xFFFF_FFFF]

    def complete(self) -> None:
        if self.kind not in (ScalarKind.LOAD, ScalarKind.CLOCK):
            return
        missing = self.wanted - len(self.dwords)
        wave = self.wave
        wave.sgprs[self.register : self.register + self.wanted] = self.dwords + [0] * missing
        if self.register <= EXEC < self.register + self.wanted:
            wave.set_exec(read_pair(wave, EXEC))


Find = Callable[[Wavefront], tuple[int, int]]
"""Byte address and how many bytes from there are within bounds."""


class ScalarOperation:
    """A bound scalar load or store."""

    __slots__ = ("_find", "_kind", "_register", "_wanted", "glc", "instruction")

    def __init__(self, instruction: Instruction, kind: ScalarKind, wanted: int) -> None:
        self.instruction = instruction
        self._kind = kind
        self._wanted = wanted
        self._register = instruction.fields["sdata"]
        self.glc = bool(instruction.fields["glc"])
        buffer = instruction.name.startswith("s_buffer")
        self._find = _buffer_address(instruction) if buffer else _plain_address(instruction)

    @property
    def loads(self) -> bool:
        return self._kind is ScalarKind.LOAD

    def execute(self, wave: Wavefront) -> ScalarAccess:
        access = ScalarAccess(wave, self._kind, self._register, self._wanted)
        access.address, inside = self._find(wave)
        access.count = max(0, min(self._wanted, inside >> 2))
        access.glc = self.glc
        if self._kind is ScalarKind.STORE:
            access.dwords = wave.sgprs[self._register : self._register + self._wanted]
        return access


class ScalarControl:
    """A bound clock or cache instruction."""

    __slots__ = ("_kind", "_register", "instruction")

    def __init__(self, instruction: Instruction, kind: ScalarKind) -> None:
        self.instruction = instruction
        self._kind = kind
        self._register = instruction.fields["sdata"]

    def execute(self, wave: Wavefront) -> ScalarAccess:
        wanted = 2 if self._kind is ScalarKind.CLOCK else 0
        return ScalarAccess(wave, self._kind, self._register, wanted)


def bind_scalar(instruction: Instruction) -> ScalarOperation | ScalarControl | None:
    """None for an instruction that is not implemented (address probes)."""
    name = instruction.name
    kind = _CONTROL.get(name)
    if kind is not None:
        return ScalarControl(instruction, kind)
    action, _, size = name.removeprefix("s_").removeprefix("buffer_").partition("_")
    if action not in ("load", "store") or size not in DWORDS:
        return None
    return ScalarOperation(instruction, ScalarKind(action), DWORDS[size])


_CONTROL: Final = {
    "s_memtime": ScalarKind.CLOCK,
    "s_memrealtime": ScalarKind.CLOCK,
    "s_dcache_inv": ScalarKind.INVALIDATE,
    "s_dcache_inv_vol": ScalarKind.INVALIDATE,
    "s_dcache_wb": ScalarKind.WRITE_BACK,
    "s_dcache_wb_vol": ScalarKind.WRITE_BACK,
}


def _offset(instruction: Instruction) -> Callable[[Wavefront], int]:
    fields = instruction.fields
    number = offset_of(instruction) if fields["imm"] else 0
    if fields.get("soffset_en"):
        register = fields["soffset"]
        return lambda wave: wave.sgprs[register] + number
    if fields["imm"]:
        return lambda wave: number
    register = fields["offset"] & 0x7F
    return lambda wave: wave.sgprs[register]


def _plain_address(instruction: Instruction) -> Find:
    base = 2 * instruction.fields["sbase"]
    offset = _offset(instruction)

    def find(wave: Wavefront) -> tuple[int, int]:
        address = read_pair(wave, base) + offset(wave)
        return address & 0xFFFF_FFFF_FFFF_FFFC, 64

    return find


def _buffer_address(instruction: Instruction) -> Find:
    """A V#'s base, and its size: records of ``stride`` bytes, or bytes without a stride."""
    base = 2 * instruction.fields["sbase"]
    offset = _offset(instruction)

    def find(wave: Wavefront) -> tuple[int, int]:
        low, high, records = wave.sgprs[base : base + 3]
        start = offset(wave) & ~3
        size = records * (high >> 16 & 0x3FFF or 1)
        return (low | (high & 0xFFFF) << 32) + start & ~3, size - start

    return find
