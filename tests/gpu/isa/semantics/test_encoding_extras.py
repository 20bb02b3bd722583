"""What encodings add: signs of sources, omod and clamp, SDWA parts, lane patterns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpu.isa import fp_environment
from gpu.isa.semantics import lane_permutes, sub_dword
from gpu.isa.semantics.floating import modifiers
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.values import operands, same, specials

LANE = np.arange(64)


@pytest.mark.parametrize("kind", ["f16", "f32", "f64", "b32"])
def test_signs_are_bits(kind: str) -> None:
    values = specials(kind)
    top = 8 * values.dtype.itemsize - 1
    unsigned = f"u{values.dtype.itemsize}"
    bits = [int(value) for value in values.view(unsigned)]
    negated, magnitude = modifiers.negated(values), modifiers.magnitude(values)
    assert negated.view(unsigned).tolist() == [value ^ 1 << top for value in bits]
    assert magnitude.view(unsigned).tolist() == [value & ~(1 << top) for value in bits]


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_clamp(kind: str) -> None:
    values = specials(kind)
    wanted = [value if math.isnan(value) else min(max(value, 0.0), 1.0) + 0.0
              for value in values.tolist()]  # fmt: skip
    keep = modifiers.clamped(FloatMode(0x0F0), values)
    assert same(keep, np.array(wanted, values.dtype)).all()
    zero = modifiers.clamped(FloatMode(0x1F0), values)
    assert same(zero, np.nan_to_num(np.array(wanted, values.dtype), nan=0.0)).all()


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_output_modifier(kind: str) -> None:
    (values,) = operands((kind,))
    for omod, factor in ((1, 2.0), (2, 4.0), (3, 0.5)):
        with fp_environment.plain_afterwards():
            got = modifiers.scaled(FloatMode(0), values, omod)
        times = np.full(len(values), factor)
        wanted = ieee.compute(ieee.multiply, [values, times], kind, 0, 0)
        wanted[wanted == 0] = 0
        assert same(got, wanted).all()
        for ignoring in (0x200, 0x0F0):
            assert modifiers.scaled(FloatMode(ignoring), values, omod) is values


@pytest.mark.parametrize("selection", range(7))
def test_parts_of_registers(selection: int) -> None:
    values, old = operands(("b32", "b32"))
    first, width = sub_dword.place(selection)
    for sign in (False, True):
        got = sub_dword.selected(values, selection, sign)
        for value, part in zip(values.tolist(), got.tolist()):
            wanted = value >> first & (1 << width) - 1
            if sign and wanted >> (width - 1):
                wanted |= -1 << width & 0xFFFFFFFF
            assert part == wanted
    for unused in (sub_dword.ZERO, sub_dword.SIGN, sub_dword.PRESERVE):
        got = sub_dword.merged(old, values, selection, unused)
        for before, value, after in zip(old.tolist(), values.tolist(), got.tolist()):
            part = value & (1 << width) - 1
            above = -1 if unused == sub_dword.SIGN and part >> (width - 1) else 0
            rest = before & ~(((1 << width) - 1) << first) if unused == sub_dword.PRESERVE else 0
            assert after == (rest | (above << width | part) << first) & 0xFFFFFFFF


def test_no_such_part() -> None:
    with pytest.raises(ValueError, match="SDWA selection 7"):
        sub_dword.selected(np.zeros(1, np.uint32), 7)


CONTROLS = {
    **{
        control: lambda lane, control=control: lane - lane % 4 + (control >> 2 * (lane % 4) & 3)
        for control in (0x00, 0x1B, 0xB1, 0xE4, 0xFF)
    },
    **{0x100 + n: lambda lane, n=n: lane + n if lane % 16 + n < 16 else None for n in (1, 15)},
    **{0x110 + n: lambda lane, n=n: lane - n if lane % 16 >= n else None for n in (1, 15)},
    **{0x120 + n: lambda lane, n=n: lane - lane % 16 + (lane - n) % 16 for n in (1, 15)},
    0x130: lambda lane: lane + 1 if lane < 63 else None,
    0x134: lambda lane: (lane + 1) % 64,
    0x138: lambda lane: lane - 1 if lane else None,
    0x13C: lambda lane: (lane - 1) % 64,
    0x140: lambda lane: lane - lane % 16 + 15 - lane % 16,
    0x141: lambda lane: lane - lane % 8 + 7 - lane % 8,
    0x142: lambda lane: lane // 16 * 16 - 1 if lane >= 16 else None,
    0x143: lambda lane: 31 if lane >= 32 else None,
}


@pytest.mark.parametrize("control", CONTROLS)
def test_dpp_control(control: int) -> None:
    pattern = lane_permutes.dpp(control)
    for lane in range(64):
        wanted = CONTROLS[control](lane)
        assert pattern.inside[lane] == (wanted is not None)
        assert wanted is None or pattern.source[lane] == wanted


@pytest.mark.parametrize("control", [0x100, 0x110, 0x120, 0x131, 0x13F, 0x144, 0x1FF])
def test_dpp_control_that_does_not_exist(control: int) -> None:
    with pytest.raises(ValueError, match=f"{control:#x}"):
        lane_permutes.dpp(control)


def test_dpp_masks() -> None:
    for rows, banks in ((0xF, 0xF), (0x5, 0xF), (0xF, 0x2), (0x8, 0x9), (0, 0xF)):
        wanted = [
            bool(rows >> lane // 16 & 1 and banks >> lane % 16 // 4 & 1) for lane in range(64)
        ]
        assert lane_permutes.dpp_lanes(rows, banks).tolist() == wanted


def test_first_lane() -> None:
    assert [lane_permutes.first_lane(bits) for bits in (0, 1, 6, 1 << 63)] == [0, 0, 1, 63]


def test_swizzles() -> None:
    assert lane_permutes.swizzle(0x80B1).tolist() == [lane ^ 1 for lane in range(64)]
    assert lane_permutes.swizzle(0x001F | 1 << 10).tolist() == [lane ^ 1 for lane in range(64)]
    assert lane_permutes.swizzle(0x001F | 16 << 10).tolist() == [lane ^ 16 for lane in range(64)]
    broadcast = lane_permutes.swizzle(0x0000 | 5 << 5).tolist()
    assert broadcast == [5 + lane // 32 * 32 for lane in range(64)]
    for flip in range(32):
        assert sorted(lane_permutes.swizzle(31 | flip << 10).tolist()) == list(range(64))


def test_pushing_undoes_pulling() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**32, 64, dtype=np.uint32)
    everyone = np.ones(64, np.bool_)
    permutation = rng.permutation(64)
    address = (4 * permutation).astype(np.uint32)
    pulled = values[lane_permutes.pull(address, 0)]
    assert np.array_equal(pulled, values[permutation])
    assert np.array_equal(lane_permutes.pushed(pulled, address, 0, everyone), values)


def test_lanes_that_take_no_part_give_zero() -> None:
    values = np.arange(100, 164, dtype=np.uint32)
    active = LANE % 2 == 0
    address = (4 * (LANE + 1)).astype(np.uint32)
    assert lane_permutes.pull(address, 4).tolist() == [(lane + 2) % 64 for lane in range(64)]
    pushed = lane_permutes.pushed(values, address, 0, active)
    assert pushed.tolist() == [(99 + lane) * (lane % 2) for lane in range(64)]
    same_target = lane_permutes.pushed(values, np.zeros(64, np.uint32), 12, active)
    assert same_target.tolist() == [162 if lane == 3 else 0 for lane in range(64)]
