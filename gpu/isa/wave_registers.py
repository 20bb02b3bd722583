"""The registers of one wavefront, as its instructions see them.

Scalar registers are Python integers in a list that is indexed by operand code (0-101 SGPRs,
102-107 flat_scratch, xnack_mask, vcc, 108-123 trap registers, 124 m0, 126-127 exec): reading a
source operand is one subscript. Vector registers are one array, a row a register, a column a
lane.

Invariant: ``exec`` equals ``sgprs[126:128]``, ``mask`` is its 64 bools, and ``full`` whether all
are set; every write of EXEC calls `set_exec`.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.isa.fp_environment import FLUSHING, PLAIN
from gpu.wave_size import LANES

SCALARS: Final = 102
"""Registers s0 to s101; a wave has those that it was given, and all that have names."""
VCC: Final = 106
M0: Final = 124
EXEC: Final = 126
ALL: Final = (1 << LANES) - 1
INDEX_FIELDS: Final = 0xF0FF
"""Of M0 in GPR-index mode: which operands are relative, and by how much."""
INDEX_MODE: Final = 27
"""The bit of MODE that says that it is on."""
_KNOWN_MASKS: Final = 4096

BINARY_DIGITS: Final = b"01" + bytes(254)
"""Makes digits of bools; numbers are read from digits in half the time packbits needs."""
_DIGIT_VALUES: Final = bytes.maketrans(b"01", b"\0\1")

VectorRegisters = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

known_masks: dict[int, Mask] = {}


def mask_of(bits: int) -> Mask:
    """The 64 bits of a number as bools, lane 0 first. Read-only and shared."""
    mask = known_masks.get(bits)
    if mask is None:
        if len(known_masks) >= _KNOWN_MASKS:
            known_masks.clear()
        digits = f"{bits:064b}".encode()[::-1]
        mask = np.frombuffer(digits.translate(_DIGIT_VALUES), np.bool_)
        known_masks[bits] = mask
    return mask


def bits_of(mask: Mask) -> int:
    """The number whose bits are those 64 bools."""
    return int(mask.tobytes()[::-1].translate(BINARY_DIGITS), 2)


def remember_mask(bits: int, mask: Mask) -> None:
    """Let `mask_of` compute the bools of a new number."""
    if bits not in known_masks:
        if len(known_masks) >= _KNOWN_MASKS:
            known_masks.clear()
        mask.flags.writeable = False
        known_masks[bits] = mask


class FloatMode:
    """How floating-point instructions round and treat denormal numbers (MODE bits 9:0).

    ``round_32``/``round_64``: 0 nearest even, 1 up, 2 down, 3 to zero; the second also holds for
    16 bits. ``denormals_32``/``denormals_64``: 0 flush in and out, 1 flush results, 2 flush
    sources, 3 keep. ``clamp_nan``: clamping makes 0 of NaN. ``ieee``: signalling NaNs are quieted.
    ``environments``: the host's environment for each `gpu.isa.semantics.entry.Environment`;
    ``packed``: the same, four bits each.
    """

    __slots__ = (
        "clamp_nan",
        "denormals_32",
        "denormals_64",
        "environments",
        "ieee",
        "packed",
        "round_32",
        "round_64",
    )

    def __init__(self, bits: int) -> None:
        self.round_32 = bits & 3
        self.round_64 = bits >> 2 & 3
        self.denormals_32 = bits >> 4 & 3
        self.denormals_64 = bits >> 6 & 3
        self.clamp_nan = bool(bits >> 8 & 1)
        self.ieee = bool(bits >> 9 & 1)
        single = self.round_32 | self.denormals_32 << 2
        double = self.round_64 | self.denormals_64 << 2
        self.environments = (PLAIN, single, double, self.round_32, FLUSHING, PLAIN)
        self.packed = sum(each << 4 * place for place, each in enumerate(self.environments))


@cache
def float_mode_of(bits: int) -> FloatMode:
    """The float mode of MODE bits 9:0; waves share them."""
    return FloatMode(bits)


class RegisterError(Exception):
    """A register was named by a computed number that no register has."""


_VIEWS: Final = {"i32": np.int32, "f32": np.float32}


class Wave:
    """One wavefront's architectural state.

    ``pc``: byte address of the next instruction. ``scc``: 0 or 1. ``scalars``: how many of the
    registers from s0 on it was given. ``vgprs``: uint32, shape
    (registers, 64). ``u32 i32 f32``: its rows, one view a register and type, made once because
    making a view costs a third of an addition; the last two when they are first used.
    ``address``: where they are, for native code.
    ``indexed``: 1 in GPR-index mode, else 0.
    ``apertures``: upper halves of the flat addresses of LDS and of scratch. ``hardware``: what
    s_getreg finds in registers
    other than MODE, by number.
    """

    __slots__ = (
        "address",
        "apertures",
        "exec",
        "f32",
        "float_mode",
        "full",
        "hardware",
        "i32",
        "indexed",
        "mask",
        "mode",
        "pc",
        "scalars",
        "scc",
        "sgprs",
        "u32",
        "vgprs",
    )

    def __init__(self, vgprs: int, pc: int = 0, mode: int = 0) -> None:
        self.pc = pc
        self.scc = 0
        self.scalars = SCALARS
        self.sgprs: list[int] = [0] * 128
        self.vgprs: VectorRegisters = np.zeros((vgprs, LANES), np.uint32)
        self.u32 = list(self.vgprs)
        self.address = ctypes.c_void_p(self.vgprs.ctypes.data)
        self.apertures = (0, 0)
        self.exec = 0
        self.mask = mask_of(0)
        self.full = False
        self.hardware: dict[int, int] = {}
        self.set_mode(mode)

    def __getattr__(self, name: str) -> list[npt.NDArray[Any]]:
        kind = _VIEWS.get(name)
        if kind is None:
            raise AttributeError(name)
        rows = list(self.vgprs.view(kind))
        setattr(self, name, rows)
        return rows

    def set_exec(self, bits: int) -> None:
        """Make these 64 bits EXEC."""
        self.exec = bits
        self.sgprs[EXEC] = bits & 0xFFFF_FFFF
        self.sgprs[EXEC + 1] = bits >> 32
        self.mask = mask_of(bits)
        self.full = bits == ALL

    def set_mode(self, bits: int) -> None:
        """Make these bits the MODE register."""
        self.mode = bits
        self.indexed = bits >> INDEX_MODE & 1
        self.float_mode = float_mode_of(bits & 0x3FF)

    def read_scalar(self, first: int, registers: int) -> int:
        """One or two scalar registers whose number was computed, as an unsigned number."""
        self._check_scalar(first, registers)
        low = self.sgprs[first]
        return low if registers == 1 else low | self.sgprs[first + 1] << 32

    def write_scalar(self, first: int, registers: int, value: int) -> None:
        """Change one or two scalar registers whose number was computed."""
        self._check_scalar(first, registers)
        for place in range(registers):
            self.sgprs[first + place] = value >> 32 * place & 0xFFFF_FFFF
        if first + registers > EXEC:
            self.set_exec(self.sgprs[EXEC] | self.sgprs[EXEC + 1] << 32)

    def _check_scalar(self, first: int, registers: int) -> None:
        if not 0 <= first <= len(self.sgprs) - registers:
            raise RegisterError(f"there is no scalar register {first}")
        last = min(first + registers, SCALARS) - 1
        if self.scalars <= last and first < SCALARS:
            raise self.no_scalar(last)

    def no_scalar(self, register: int) -> RegisterError:
        """The error of an instruction that wants a scalar register that the wave was not given."""
        return RegisterError(f"the wave has {self.scalars} scalar registers and no s{register}")
