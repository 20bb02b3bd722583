"""Random programs for compute units: loads without waits, loops, barriers, LDS, clocks.

Invariant: every program ends, whatever it loads: loops count in registers that nothing else
writes, and addresses are made of lanes.

Registers: s[0:1] the buffer, s[2:3] where results go, s4-s15 anything, s[16:19] loop counters,
s[20:21] EXEC saved. v0 the lane, v[2:3] an address, v1 an LDS address, v4-v15 anything.
"""

from __future__ import annotations

import numpy as np

from gpu.generation import Generation
from gpu.isa.encoding.formats import BY_NAME
from gpu.isa.encoding.operands import NO_BASE
from gpu.isa.tables import OPCODES

WORDS = 512
"""Of the buffer."""
LDS_BYTES = 1024
_NUMBERS = {
    (generation, form, opcode.name): number
    for generation, tables in OPCODES.items()
    for form, table in tables.items()
    for number, opcode in table.items()
}
_VECTOR, _SCALAR = range(4, 16), range(4, 16)
_VGPR, _INLINE = 256, 128
_FREE_SGPRS = 4


def word(generation: Generation, form: str, name: str, **fields: int) -> bytes:
    """One instruction; fields that are not named are 0."""
    layout = BY_NAME[generation][form]
    bits = layout.fixed | _NUMBERS[generation, form, name] << layout.opcode.low
    for field, value in fields.items():
        bits |= (value & (1 << layout.fields[field].bits) - 1) << layout.fields[field].low
    return bits.to_bytes(4 * layout.words, "little")


class Writer:
    """Puts one program together."""

    def __init__(
        self, seed: int, mistakes: float = 0, generation: Generation = Generation.GFX8
    ) -> None:
        self.generation = generation
        self.numbers = np.random.default_rng(seed)
        self.mistakes = mistakes
        self.code = b""
        self._loops = 0

    def pick(self, some: range | list[int]) -> int:
        return int(self.numbers.choice(np.asarray(some)))

    def add(self, form: str, name: str, **fields: int) -> None:
        self.code += word(self.generation, form, name, **fields)

    def move(self, name: str, **fields: int) -> None:
        """A vector memory instruction, of GFX9 in either of two forms."""
        if self.generation is Generation.GFX8 or self.pick(range(2)):
            self.add("FLAT", f"flat_{name}", **fields)
        else:
            self.add("GLOBAL", f"global_{name}", saddr=NO_BASE, **fields)

    # ------------------------------------------------------------------ parts

    def begin(self) -> None:
        """Addresses: each lane its own word of the buffer, and of LDS."""
        self.add("VOP2", "v_lshlrev_b32", vdst=1, src0=_INLINE + 2, vsrc1=0)
        self.add("VOP1", "v_mov_b32", vdst=3, src0=1)
        self.add("VOP2", "v_add_u32", vdst=2, src0=0, vsrc1=1)
        self.add("SOP1", "s_mov_b32", sdst=124, ssrc0=_INLINE + 65)
        for register in _VECTOR:
            self.add("VOP1", "v_mov_b32", vdst=register, src0=_INLINE + register)
        for register in _SCALAR:
            self.add("SOP1", "s_mov_b32", sdst=register, ssrc0=_INLINE + register)

    def finish(self) -> None:
        """All registers to memory, 64 words each, behind each other."""
        self.add("SOP1", "s_mov_b64", sdst=126, ssrc0=_INLINE + 65)
        self.add("SOPP", "s_waitcnt", simm16=0)
        self.add("VOP1", "v_mov_b32", vdst=3, src0=3)
        self.add("VOP2", "v_add_u32", vdst=2, src0=2, vsrc1=1)
        step = _INLINE + 64
        for source in (*(_VGPR + each for each in _VECTOR), *_SCALAR):
            self.add("VOP1", "v_mov_b32", vdst=16, src0=source)
            self.add("FLAT", "flat_store_dword", addr=2, data=16)
            for _ in range(4):
                self.add("VOP2", "v_add_u32", vdst=2, src0=step, vsrc1=2)
        self.add("SOPP", "s_waitcnt", simm16=0)
        self.add("SOPP", "s_endpgm")

    def body(self, count: int, depth: int = 0) -> None:
        for _ in range(count):
            kind = self.numbers.random()
            if kind < 0.06 and depth < 2 and self._loops < _FREE_SGPRS:
                self.loop(depth)
            elif kind < 0.10 and depth < 2:
                self.skip(depth)
            elif kind < 0.14 and depth < 2:
                self.some_lanes(depth)
            else:
                self.simple()

    def simple(self) -> None:
        if self.numbers.random() < self.mistakes:
            return self.mistake()
        kinds = (
            *(self.vector, self.vector, self.scalar, self.load, self.load, self.store),
            *(self.scalar_load, self.local, self.local, self.atomic, self.wait, self.wait),
            *(self.steer, self.across, self.maintain),
        )
        kinds[self.pick(range(len(kinds)))]()

    def vector(self) -> None:
        name = ("v_add_u32", "v_xor_b32", "v_max_u32", "v_mul_f32")[self.pick(range(4))]
        source = self.pick([_VGPR + self.pick(_VECTOR), self.pick(_SCALAR), _INLINE + 3])
        self.add("VOP2", name, vdst=self.pick(_VECTOR), src0=source, vsrc1=self.pick(_VECTOR))
        if self.numbers.random() < 0.1:
            self.add("VOP1", "v_rcp_f32", vdst=self.pick(_VECTOR), src0=_VGPR + self.pick(_VECTOR))

    def scalar(self) -> None:
        name = ("s_add_u32", "s_xor_b32", "s_lshl_b32")[self.pick(range(3))]
        one, other = self.pick(_SCALAR), self.pick(_SCALAR)
        self.add("SOP2", name, sdst=self.pick(_SCALAR), ssrc0=one, ssrc1=other)

    def load(self) -> None:
        name, size = (("load_dword", 1), ("load_ubyte", 1), ("load_dwordx2", 2))[
            self.pick(range(3))
        ]
        first = self.pick(range(4, 17 - size))
        self.move(name, addr=2, vdst=first, glc=self.pick(range(2)))

    def store(self) -> None:
        self.move("store_dword", addr=2, data=self.pick(_VECTOR))

    def atomic(self) -> None:
        returns = self.pick(range(2))
        result = self.pick(_VECTOR) if returns else 0
        self.move("atomic_add", addr=2, data=self.pick(_VECTOR), vdst=result, glc=returns)

    def scalar_load(self) -> None:
        name, size = (("s_load_dword", 1), ("s_load_dwordx2", 2), ("s_load_dwordx4", 4))[
            self.pick(range(3))
        ]
        first = self.pick([each for each in range(4, 17 - size) if each % size == 0])
        offset = 4 * self.pick(range(WORDS - 4))
        self.add("SMEM", name, sbase=0, sdata=first, imm=1, offset=offset)

    def local(self) -> None:
        kind = self.pick(range(8))
        offset = 4 * self.pick(range(32))
        value, result = self.pick(_VECTOR), self.pick(_VECTOR[:-1])
        if kind == 0:
            self.add("DS", "ds_write_b32", addr=1, data0=value, offset0=offset)
        elif kind == 1:
            self.add("DS", "ds_read_b32", addr=1, vdst=result, offset0=offset)
        elif kind == 2:
            self.add("DS", "ds_add_rtn_u32", addr=1, data0=value, vdst=result, offset0=offset)
        elif kind == 3:
            self.add("DS", "ds_swizzle_b32", addr=value, vdst=result)
        elif kind == 4:  # misaligned, but for one time in four
            name = ("ds_read_u16", "ds_read_i16", "ds_read_b32", "ds_read_b64")[offset >> 5]
            self.add("DS", name, addr=1, vdst=result, offset0=offset + self.pick(range(4)))
        elif kind == 5:
            name = ("ds_write_b8", "ds_write_b16", "ds_write_b64", "ds_write_b8")[offset >> 5]
            self.add("DS", name, addr=1, data0=result, offset0=offset + self.pick(range(4)))
        elif kind == 6:
            self.add("DS", "ds_read2_b32", addr=1, vdst=result, offset0=offset, offset1=1)
        else:  # of the upper lanes, or out of bounds
            self.add("DS", "ds_read_b32", addr=1, vdst=result, offset1=self.pick(range(5)))

    def wait(self) -> None:
        vm, lgkm = self.pick([0, 0, 1, 2, 15]), self.pick([0, 0, 1, 3, 15])
        more = 3 << 14 if vm == 15 and self.generation is Generation.GFX9 else 0
        self.add("SOPP", "s_waitcnt", simm16=vm | 7 << 4 | lgkm << 8 | more)

    def steer(self) -> None:
        kind = self.pick(range(5))
        if kind == 0:
            self.add("SOPP", "s_nop", simm16=self.pick(range(8)))
        elif kind == 1:
            self.add("SOPP", "s_sleep", simm16=self.pick(range(3)))
        elif kind == 2:
            self.add("SOPP", "s_setprio", simm16=self.pick(range(4)))
        elif kind == 3:
            self.add("SOPP", "s_barrier")
        else:
            self.add("SMEM", "s_memtime", sdata=self.pick([4, 6, 8]))

    def across(self) -> None:
        source, lane = _VGPR + self.pick(_VECTOR), _INLINE + self.pick(range(64))
        if self.pick(range(2)):
            self.add("VOP3", "v_readlane_b32", vdst=self.pick(_SCALAR), src0=source, src1=lane)
        else:
            self.add("VOP1", "v_readfirstlane_b32", vdst=self.pick(_SCALAR), src0=source)

    def maintain(self) -> None:
        kind = self.pick(range(6))
        if kind == 0:
            self.add("MUBUF", "buffer_wbinvl1")
        elif kind == 1:
            self.add("SMEM", "s_dcache_inv")
        elif kind == 2:
            self.add("SOPP", "s_icache_inv")
        elif kind == 3:
            self.add("SOPK", "s_getreg_b32", sdst=self.pick(_SCALAR), simm16=31 << 11 | 4)
        else:
            self.vector()

    def mistake(self) -> None:
        """Something that fails, if it is reached by the right wave at the right time."""
        kind = self.pick(range(8))
        if kind == 0:
            self.add("SOPP", "s_trap", simm16=self.pick([1, 2, 3, 9]))
        elif kind == 1:
            self.code += b"\xff\xff\xff\xff"
        elif kind == 2:
            self.add("FLAT", "flat_load_dword", addr=self.pick(range(4, 15)), vdst=4)
        elif kind == 3:
            self.add("FLAT", "flat_store_dword", addr=self.pick(range(4, 15)), data=4)
        elif kind == 4:
            register = self.pick(_VECTOR)
            self.add("DS", "ds_add_rtn_u32", addr=register, data0=4, vdst=5, offset0=1)
        elif kind == 5:
            self.add("SOP1", "s_setpc_b64", ssrc0=self.pick([4, 6, 8]))
        elif kind == 6:
            self.add("VOP1", "v_mov_b32", vdst=self.pick([31, 32, 200]), src0=_VGPR + 4)
        else:
            self.add("SMEM", "s_load_dword", sbase=self.pick([2, 3, 4]), sdata=4, imm=1)

    def loop(self, depth: int) -> None:
        counter = 16 + self._loops
        self._loops += 1
        self.add("SOP1", "s_mov_b32", sdst=counter, ssrc0=_INLINE + self.pick(range(1, 4)))
        start = len(self.code)
        self.body(self.pick(range(1, 6)), depth + 1)
        self.add("SOP2", "s_sub_u32", sdst=counter, ssrc0=counter, ssrc1=_INLINE + 1)
        self.add("SOPC", "s_cmp_lg_u32", ssrc0=counter, ssrc1=_INLINE)
        distance = (start - len(self.code) - 4) // 4
        self.add("SOPP", "s_cbranch_scc1", simm16=distance)

    def skip(self, depth: int) -> None:
        """What follows, if a comparison of values that may be in flight says so."""
        self.add("SOPC", "s_cmp_lg_u32", ssrc0=self.pick(_SCALAR), ssrc1=self.pick(_SCALAR))
        place = len(self.code)
        self.code += bytes(4)
        loops = self._loops
        self.body(self.pick(range(1, 4)), depth + 1)
        self._loops = max(loops, self._loops)
        distance = (len(self.code) - place - 4) // 4
        branch = word(self.generation, "SOPP", "s_cbranch_scc0", simm16=distance)
        self.code = self.code[:place] + branch + self.code[place + 4 :]

    def some_lanes(self, depth: int) -> None:
        """What follows, for the lanes that a comparison chooses; perhaps none."""
        self.add("SOP1", "s_mov_b64", sdst=20, ssrc0=126)
        self.add("VOPC", "v_cmp_lt_u32", src0=_INLINE + self.pick([0, 7, 33, 64]), vsrc1=0)
        self.add("SOP2", "s_and_b64", sdst=126, ssrc0=126, ssrc1=106)
        for _ in range(self.pick(range(1, 4))):
            self.simple()
        self.add("SOP1", "s_mov_b64", sdst=126, ssrc0=20)


def program(
    seed: int,
    count: int = 24,
    mistakes: float = 0,
    generation: Generation = Generation.GFX8,
) -> bytes:
    """The machine code of one program. ``mistakes``: how many of its instructions may fail."""
    writer = Writer(seed, mistakes, generation)
    writer.begin()
    writer.body(count)
    writer.finish()
    return writer.code
