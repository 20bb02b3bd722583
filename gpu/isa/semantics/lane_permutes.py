"""Which lane's value each lane gets: DPP controls, and the permutations that LDS hardware does.

Sources: the public GCN3 instruction set architecture manual, "Data parallel processing" and "LDS
instructions"; the encodings as LLVM's AMDGPU assembler has them.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from gpu.isa.semantics.entry import Array
from gpu.wave_size import LANES

_LANE: Final = np.arange(LANES)


class Pattern(NamedTuple):
    """``source``: the lane each lane reads (intp, shape (64,)); ``inside``: whether it exists."""

    source: Array
    inside: Array


def _pattern(source: Array, inside: Array) -> Pattern:
    source = np.where(inside, source, 0).astype(np.intp)
    for array in (source, inside):
        array.flags.writeable = False
    return Pattern(source, inside)


def _in_row(source: Array) -> Pattern:
    return _pattern(source, source // 16 == _LANE // 16)


def _anywhere(source: Array) -> Pattern:
    return _pattern(source, np.ones(LANES, np.bool_))


def _quad(control: int) -> Pattern:
    wanted = np.array([control >> 2 * place & 3 for place in range(4)])
    return _anywhere(_LANE // 4 * 4 + wanted[_LANE % 4])


_WHOLE_WAVE: Final = {
    0x130: lambda: _pattern(_LANE + 1, _LANE < LANES - 1),
    0x134: lambda: _anywhere((_LANE + 1) % LANES),
    0x138: lambda: _pattern(_LANE - 1, _LANE > 0),
    0x13C: lambda: _anywhere((_LANE - 1) % LANES),
    0x140: lambda: _anywhere(_LANE ^ 15),
    0x141: lambda: _anywhere(_LANE ^ 7),
    0x142: lambda: _pattern(_LANE // 16 * 16 - 1, _LANE >= 16),
    0x143: lambda: _pattern(np.full(LANES, 31), _LANE >= 32),
}


@cache
def dpp(control: int) -> Pattern:
    """The pattern of a DPP control.

    0-0xFF permutes each four lanes; 0x101-0x10F, 0x111-0x11F, 0x121-0x12F move rows of sixteen
    left, right, and right in a circle; 0x130 ... 0x13C the whole wave by one; 0x140, 0x141 mirror
    rows and half rows; 0x142 gives every row the last lane of the row before, 0x143 the upper half
    lane 31.

    :raises ValueError: no such control
    """
    distance = control & 15
    if control < 0x100:
        return _quad(control)
    if control in _WHOLE_WAVE:
        return _WHOLE_WAVE[control]()
    if control >> 4 == 0x10 and distance:
        return _in_row(_LANE + distance)
    if control >> 4 == 0x11 and distance:
        return _in_row(_LANE - distance)
    if control >> 4 == 0x12 and distance:
        return _anywhere(_LANE // 16 * 16 + (_LANE - distance) % 16)
    raise ValueError(f"DPP control {control:#x} does not exist")


@cache
def dpp_lanes(row_mask: int, bank_mask: int) -> Array:
    """The lanes that DPP's masks let write: bit r for row r of sixteen lanes, bit b for the b-th
    four lanes of every row. Read-only."""
    rows = (row_mask >> _LANE // 16) & 1
    banks = (bank_mask >> _LANE % 16 // 4) & 1
    lanes: Array = (rows & banks).astype(np.bool_)
    lanes.flags.writeable = False
    return lanes


def first_lane(bits: int) -> int:
    """The lowest lane of EXEC, 0 if there is none."""
    return (bits & -bits).bit_length() - 1 if bits else 0


@cache
def swizzle(offset: int) -> Array:
    """The lane each lane reads in ds_swizzle_b32: with bit 15 a permutation of each four lanes,
    otherwise within 32 lanes ``(lane & and | or) ^ xor`` of three fields of five bits."""
    if offset & 0x8000:
        return _quad(offset & 0xFF).source
    kept, set_, flipped = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return _anywhere(((_LANE & kept) | set_) ^ flipped | (_LANE & 32)).source


def pull(address: Array, offset: int) -> Array:
    """The lane each lane reads in ds_bpermute_b32, of byte addresses (uint32)."""
    return np.bitwise_and(np.right_shift(np.add(address, np.uint32(offset)), 2), 63).astype(np.intp)


def pushed(values: Array, address: Array, offset: int, active: Array) -> Array:
    """ds_permute_b32: every active lane sends its value to the lane it names; of several senders
    the highest lane wins, and a lane without a sender gets 0."""
    result = np.zeros(LANES, values.dtype)
    target = np.broadcast_to(pull(address, offset), LANES)[active]
    result[target] = np.broadcast_to(values, LANES)[active]
    return result
