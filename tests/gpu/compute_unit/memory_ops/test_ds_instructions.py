"""Every DS instruction that is carried out, against a model of one lane after the other."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.ds_atomics import change_of
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.lds import bank_cycles
from gpu.generation import Generation
from gpu.isa import fp_environment
from gpu.isa.tables import OPCODES
from gpu.wave_size import LANES
from tests.gpu.compute_unit.encoding import get_pair, operation, perform, set_pair, wavefront

LDS = 2048
WAVE = np.arange(LANES)


def _signed(value: int, bits: int) -> int:
    return value - (value >> bits - 1 << bits)


def _float(value: int, bits: int) -> float:
    made: float = struct.unpack("<f" if bits == 32 else "<d", value.to_bytes(bits // 8, "little"))[
        0
    ]
    return made


def _float_bits(value: float, bits: int) -> int:
    return int.from_bytes(struct.pack("<f" if bits == 32 else "<d", value), "little")


def _conditional(old: int, a: int, b: int, bits: int) -> int:
    parts = []
    for shift in (0, 32):
        new, before = a >> shift & 0xFFFF_FFFF, old >> shift & 0xFFFF_FFFF
        parts.append(new & 0x7FFF_FFFF if new >> 31 else before)
    return parts[0] | parts[1] << 32


One = Callable[[int, int, int, int], int]
MEANING: dict[str, One] = {
    "add_u": lambda old, a, b, n: old + a,
    "sub_u": lambda old, a, b, n: old - a,
    "rsub_u": lambda old, a, b, n: a - old,
    "inc_u": lambda old, a, b, n: 0 if old >= a else old + 1,
    "dec_u": lambda old, a, b, n: a if old == 0 or old > a else old - 1,
    "min_i": lambda old, a, b, n: min(old, a, key=lambda value: _signed(value, n)),
    "max_i": lambda old, a, b, n: max(old, a, key=lambda value: _signed(value, n)),
    "min_u": lambda old, a, b, n: min(old, a),
    "max_u": lambda old, a, b, n: max(old, a),
    "and_b": lambda old, a, b, n: old & a,
    "or_b": lambda old, a, b, n: old | a,
    "xor_b": lambda old, a, b, n: old ^ a,
    "mskor_b": lambda old, a, b, n: old & ~a | b,
    "cmpst_b": lambda old, a, b, n: b if old == a else old,
    "cmpst_f": lambda old, a, b, n: b if _float(old, n) == _float(a, n) else old,
    "min_f": lambda old, a, b, n: a if _float(a, n) < _float(old, n) else old,
    "max_f": lambda old, a, b, n: a if _float(a, n) > _float(old, n) else old,
    "add_f": lambda old, a, b, n: _float_bits(_float(old, n) + _float(a, n), n),
    "wrxchg_b": lambda old, a, b, n: a,
    "wrap_b": lambda old, a, b, n: old - a if old >= a else old + b,
    "condxchg32_b": _conditional,
}

CHANGES = sorted(
    opcode.name
    for opcode in OPCODES[Generation.GFX8]["DS"].values()
    if opcode.name.removeprefix("ds_").replace("_rtn", "")[:-2] in MEANING
)


def _numbers(bits: int, floating: bool, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if floating:
        kind = np.float32 if bits == 32 else np.float64
        small = random.integers(-4, 4, LANES).astype(kind)
        return small.view(np.uint32 if bits == 32 else np.uint64)
    values = random.integers(0, 1 << bits, LANES, np.uint64)
    values[::3] = random.integers(0, 4, len(values[::3]))
    return values.astype(np.uint32 if bits == 32 else np.uint64)


def test_the_list_is_not_empty() -> None:
    assert len(CHANGES) > 60


@pytest.mark.parametrize("words", [1, 40])
@pytest.mark.parametrize("name", CHANGES)
def test_read_change_write(name: str, words: int) -> None:
    """Half of the lanes are active; some of them conflict on a word, or all."""
    bits = int(name[-2:])
    meaning = MEANING[name.removeprefix("ds_").replace("_rtn", "")[:-2]]
    floating = name[-3] == "f"
    returns = "_rtn_" in name
    wave = wavefront(LDS)
    wave.set_exec(0x5555_5555_FFFF_0001)
    size = bits // 8
    memory = _numbers(bits, floating, 1)
    wave.group.lds.bytes[: memory.nbytes] = memory.view(np.uint8)
    places = np.random.default_rng(2).integers(0, words, LANES) + 3
    wave.vgprs[1] = places * size
    a, b = _numbers(bits, floating, 3), _numbers(bits, floating, 4)
    for register, values in ((2, a), (4, b)):
        if bits == 64:
            set_pair(wave, register, values)
        else:
            wave.vgprs[register] = values
    fields = {"addr": 1, "data0": 2}
    if any(part in name for part in ("mskor", "cmpst", "wrap")):
        fields["data1"] = 4
    if returns:
        fields["vdst"] = 6
        wave.vgprs[6:8] = 0xAAAA_AAAA
    perform(operation("DS", name, **fields), wave)

    model = memory.tolist()
    returned = [0xAAAA_AAAA | 0xAAAA_AAAA << 32 & (1 << bits) - 1 for _ in range(LANES)]
    for lane in range(LANES):
        if wave.exec >> lane & 1:
            place = int(places[lane])
            returned[lane] = model[place]
            changed = meaning(model[place], int(a[lane]), int(b[lane]), bits)
            model[place] = changed & (1 << bits) - 1
    stored = wave.group.lds.bytes.view(np.uint32 if bits == 32 else np.uint64)
    assert stored[:LANES].tolist() == model
    if returns:
        found = get_pair(wave, 6) if bits == 64 else wave.vgprs[6]
        assert found.tolist() == returned


SOURCES = sorted(
    opcode.name
    for opcode in OPCODES[Generation.GFX8]["DS"].values()
    if "_src2_" in opcode.name and opcode.name.replace("_src2_", "_") in CHANGES
)


@pytest.mark.parametrize("name", SOURCES)
def test_the_second_operand_from_lds(name: str) -> None:
    """The ``src2`` forms: DS[A] changes by DS[A + 4 * 64]."""
    bits = int(name[-2:])
    meaning = MEANING[name.removeprefix("ds_").replace("_src2_", "_")[:-2]]
    kind = np.uint32 if bits == 32 else np.uint64
    old, other = _numbers(bits, name[-3] == "f", 1), _numbers(bits, name[-3] == "f", 2)
    wave = wavefront(LDS)
    words = wave.group.lds.bytes.view(kind)
    words[:64], words[64:128] = old, other
    wave.vgprs[1] = WAVE * (bits // 8)
    distance = 64 * (bits // 32)
    fields = {"offset0": distance & 255, "offset1": distance >> 8}
    perform(operation("DS", name, addr=1, **fields), wave)
    expected = [
        meaning(before, operand, operand, bits) & (1 << bits) - 1
        for before, operand in zip(old.tolist(), other.tolist())
    ]
    assert words[:64].tolist() == expected
    assert words[64:128].tolist() == other.tolist()


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 96, 128])
def test_write_and_read_back(bits: int) -> None:
    """Every width, at an offset in the instruction; the neighbours keep what they had."""
    wave = wavefront(LDS)
    wave.group.lds.bytes[:] = 0xEE
    size, words = bits // 8, max(1, bits // 32)
    wave.vgprs[1] = WAVE * size
    data = np.random.default_rng(bits).integers(0, 1 << 32, (words, LANES), np.uint32)
    wave.vgprs[4 : 4 + words] = data
    perform(operation("DS", f"ds_write_b{bits}", addr=1, data0=4, offset0=16, offset1=0), wave)
    assert (wave.group.lds.bytes[:16] == 0xEE).all()
    assert (wave.group.lds.bytes[16 + LANES * size :] == 0xEE).all()
    name = f"ds_read_b{bits}" if bits >= 32 else f"ds_read_u{bits}"
    perform(operation("DS", name, addr=1, vdst=8, offset0=16), wave)
    mask = (1 << min(bits, 32)) - 1
    assert (wave.vgprs[8 : 8 + words] == data & mask).all()
    if bits < 32:
        perform(operation("DS", f"ds_read_i{bits}", addr=1, vdst=8, offset0=16), wave)
        signed = (data[0] & mask).astype(f"u{size}").view(f"i{size}").astype(np.int32)
        assert (wave.vgprs[8].view(np.int32) == signed).all()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("stride", ["", "st64"])
def test_two_addresses(bits: int, stride: str) -> None:
    """Offsets count elements, or 64 of them."""
    unit = (bits // 8) * (64 if stride else 1)
    wave = wavefront(8192)
    wave.vgprs[1] = 8 * (WAVE % 4)
    random = np.random.default_rng(5)
    first, second = random.integers(0, 1 << bits, (2, LANES), np.uint64)
    for register, values in ((2, first), (4, second)):
        set_pair(wave, register, values)
    fields = {"addr": 1, "offset0": 2, "offset1": 7}
    perform(operation("DS", f"ds_write2{stride}_b{bits}", data0=2, data1=4, **fields), wave)
    perform(operation("DS", f"ds_read2{stride}_b{bits}", vdst=8, **fields), wave)
    last = 60 + WAVE % 4  # the highest lane that wrote there
    mask = np.uint64((1 << bits) - 1)
    found = [get_pair(wave, 8), get_pair(wave, 10)]
    if bits == 32:
        found = [wave.vgprs[8].astype(np.uint64), wave.vgprs[9].astype(np.uint64)]
    assert (found[0] == first[last] & mask).all()
    assert (found[1] == second[last] & mask).all()
    words = wave.group.lds.bytes.view(np.uint32 if bits == 32 else np.uint64)
    for offset, values in ((2 * unit, first), (7 * unit, second)):
        for part in range(4):
            place = (offset + 8 * part) // (bits // 8)
            assert words[place] == values[60 + part] & mask
    wave.vgprs[1] = 8 * WAVE
    name = f"ds_wrxchg2{stride}_rtn_b{bits}"
    before = wave.group.lds.bytes.copy()
    perform(operation("DS", name, addr=1, data0=2, data1=4, vdst=8, offset0=1, offset1=100), wave)
    old = before.view(words.dtype)
    place = (unit + 8 * WAVE) // (bits // 8)
    taken = get_pair(wave, 8) if bits == 64 else wave.vgprs[8].astype(np.uint64)
    assert (taken == old[place]).all()
    assert (wave.group.lds.bytes.view(words.dtype)[place] == first & mask).all()


def test_beyond_the_bound() -> None:
    """Reads give zero and writes are dropped behind M0 and behind what the group has."""
    wave = wavefront(256)
    wave.group.lds.bytes[:] = 0xFF
    wave.sgprs[124] = 100
    wave.vgprs[1] = WAVE * 4
    wave.vgprs[2] = WAVE + 1
    perform(operation("DS", "ds_write_b32", addr=1, data0=2), wave)
    stored = wave.group.lds.dwords[:64]
    assert stored[:25].tolist() == list(range(1, 26))
    assert (stored[25:] == 0xFFFF_FFFF).all()
    perform(operation("DS", "ds_read_b32", addr=1, vdst=3), wave)
    assert wave.vgprs[3].tolist() == [*range(1, 26)] + [0] * 39
    perform(operation("DS", "ds_add_rtn_u32", addr=1, data0=2, vdst=3), wave)
    assert wave.vgprs[3].tolist() == [*range(1, 26)] + [0] * 39
    assert (stored[25:] == 0xFFFF_FFFF).all()
    assert wave.group.lds.out_of_range == 3 * 39
    wave.sgprs[124] = 0xFFFF_FFFF
    wave.vgprs[1] = WAVE * 8
    perform(operation("DS", "ds_read_b32", addr=1, vdst=3), wave)
    assert np.count_nonzero(wave.vgprs[3]) == 32


def test_an_offset_brings_a_base_below_zero_back() -> None:
    """Compilers read ``table[63 - lane]`` at offset 252 from -4 * lane."""
    wave = wavefront(1024)
    words = wave.group.lds.dwords
    words[:128] = np.arange(128) + 1000
    wave.vgprs[1] = (-4 * WAVE).astype(np.uint32)
    perform(operation("DS", "ds_read_b32", addr=1, vdst=2, offset0=252), wave)
    assert wave.vgprs[2].tolist() == (1063 - WAVE).tolist()
    perform(operation("DS", "ds_read2_b32", addr=1, vdst=2, offset0=64, offset1=63), wave)
    assert wave.vgprs[2].tolist() == (1064 - WAVE).tolist()
    assert wave.vgprs[3].tolist() == (1063 - WAVE).tolist()
    wave.vgprs[4] = WAVE
    perform(operation("DS", "ds_write_b32", addr=1, data0=4, offset0=252), wave)
    perform(operation("DS", "ds_add_u32", addr=1, data0=4, offset0=252), wave)
    assert words[:64].tolist() == (2 * WAVE[::-1]).tolist()
    assert wave.group.lds.out_of_range == 0


def test_a_second_operand_before_lds_is_beyond_the_bound() -> None:
    """DS[A - 4] of a ``src2`` form: for the first lane that is no word of the group's LDS."""
    wave = wavefront(256)
    words = wave.group.lds.dwords
    words[:64] = WAVE + 1
    wave.set_exec(1)
    wave.vgprs[1] = 0
    perform(operation("DS", "ds_add_src2_u32", addr=1, offset0=0xFF, offset1=0x7F), wave)
    assert words[:64].tolist() == (WAVE + 1).tolist()
    assert wave.group.lds.out_of_range == 1


def test_a_misaligned_atomic_names_its_lane() -> None:
    wave = wavefront(256)
    wave.vgprs[1] = 4 * (WAVE % 8)
    wave.vgprs[1, 9] = 6
    with pytest.raises(LaneError, match="lane 9: atomic of 4 bytes at LDS offset 0x6"):
        perform(operation("DS", "ds_add_u32", addr=1, data0=2), wave)


def test_misaligned_reads_and_writes_are_bytes_in_order() -> None:
    wave = wavefront(1024)
    wave.vgprs[1] = WAVE * 8 + 3
    set_pair(wave, 2, np.arange(1, 65, dtype=np.uint64) * np.uint64(0x0102_0304_0506_0708))
    perform(operation("DS", "ds_write_b32", addr=1, data0=2), wave)
    perform(operation("DS", "ds_read_b32", addr=1, vdst=4), wave)
    assert (wave.vgprs[4] == wave.vgprs[2]).all()
    perform(operation("DS", "ds_read_u16", addr=1, vdst=5), wave)
    assert (wave.vgprs[5] == wave.vgprs[2] & 0xFFFF).all()


def test_a_counter_of_the_wave() -> None:
    """It counts active lanes, and returns the old value to each of them; M0 holds its address."""
    wave = wavefront(64)
    words = wave.group.lds.dwords
    words[9] = 1000
    wave.sgprs[124] = 16
    wave.vgprs[3] = 7
    wave.set_exec(0x8000_0000_0000_00F1)
    access = perform(operation("DS", "ds_append", vdst=3, offset0=20), wave)
    assert isinstance(access, LocalAccess) and access.lanes.tolist() == [0]
    assert words[9] == 1006
    active = np.isin(WAVE, [0, 4, 5, 6, 7, 63])
    assert wave.vgprs[3].tolist() == np.where(active, 1000, 7).tolist()
    wave.set_exec(0b11)
    perform(operation("DS", "ds_consume", vdst=3, offset0=20), wave)
    assert words[9] == 1004 and wave.vgprs[3, :4].tolist() == [1006, 1006, 7, 7]
    words[9] = 1
    perform(operation("DS", "ds_consume", vdst=3, offset0=20), wave)
    assert words[9] == 0xFFFF_FFFF
    wave.set_exec(0)
    assert perform(operation("DS", "ds_append", vdst=3, offset0=20), wave) is None


def test_a_counter_beyond_lds_is_dropped() -> None:
    wave = wavefront(64)
    wave.vgprs[3] = 7
    wave.sgprs[124] = 64
    perform(operation("DS", "ds_append", vdst=3), wave)
    assert not wave.vgprs[3].any() and not wave.group.lds.bytes.any()
    assert wave.group.lds.out_of_range == 1


def test_permutes() -> None:
    wave = wavefront()
    wave.vgprs[2] = WAVE + 100
    wave.vgprs[1] = 4 * (WAVE[::-1])
    perform(operation("DS", "ds_permute_b32", addr=1, data0=2, vdst=3), wave)
    assert wave.vgprs[3].tolist() == (WAVE[::-1] + 100).tolist()
    wave.vgprs[1] = 4 * ((WAVE + 1) % 64) + 256  # lane numbers wrap
    perform(operation("DS", "ds_bpermute_b32", addr=1, data0=2, vdst=3), wave)
    assert wave.vgprs[3].tolist() == ((WAVE + 1) % 64 + 100).tolist()


def test_permutes_among_active_lanes_only() -> None:
    """An inactive source gives zero, an inactive lane keeps its register, the highest lane wins."""
    wave = wavefront()
    wave.set_exec(0xFFFF)
    wave.vgprs[2] = WAVE + 100
    wave.vgprs[3] = 7
    wave.vgprs[1] = 4 * (WAVE + 8)
    perform(operation("DS", "ds_bpermute_b32", addr=1, data0=2, vdst=3), wave)
    assert wave.vgprs[3].tolist() == [*range(108, 116), *[0] * 8, *[7] * 48]
    wave.vgprs[1] = 4 * (WAVE % 4)
    perform(operation("DS", "ds_permute_b32", addr=1, data0=2, vdst=3), wave)
    assert wave.vgprs[3].tolist() == [112, 113, 114, 115, *[0] * 12, *[7] * 48]


def test_swizzles() -> None:
    wave = wavefront()
    wave.vgprs[1] = WAVE
    quads = 0x8000 | 0b00_01_10_11  # each quad reversed
    fields = {"offset0": quads & 255, "offset1": quads >> 8}
    perform(operation("DS", "ds_swizzle_b32", addr=1, vdst=2, **fields), wave)
    assert wave.vgprs[2].tolist() == [lane ^ 3 for lane in range(64)]
    masks = 0x1F | 0 << 5 | 0b10001 << 10  # exclusive or with 17 within 32 lanes
    fields = {"offset0": masks & 255, "offset1": masks >> 8}
    perform(operation("DS", "ds_swizzle_b32", addr=1, vdst=2, **fields), wave)
    assert wave.vgprs[2].tolist() == [lane ^ 17 for lane in range(64)]


@pytest.mark.parametrize(
    "offsets, size, cycles",
    [
        (4 * WAVE, 4, 2),
        (0 * WAVE, 4, 2),
        (8 * WAVE, 4, 4),
        (128 * WAVE, 4, 64),
        (132 * WAVE, 4, 2),
        (8 * WAVE, 8, 4),
        (4 * WAVE[:20], 4, 1),
    ],
)
def test_bank_conflicts(offsets: np.ndarray, size: int, cycles: int) -> None:
    """Half-waves of 32 lanes; the same dword costs nothing more."""
    assert bank_cycles(offsets, size) == cycles


def test_floating_point_does_not_depend_on_the_instruction_before() -> None:
    """A vector instruction may have left the host rounding up and flushing."""
    old, a = (np.array([bits], np.uint32) for bits in (0x3F800000, 0x00000001))
    tiny = np.array([2], np.uint32)
    add = change_of("add_f32")
    assert add is not None
    with fp_environment.plain_afterwards():
        fp_environment.use(1)
        assert add.new(old, a, a).tolist() == [0x3F800000]
        fp_environment.use(fp_environment.FLUSHING)
        assert add.new(tiny, a, a).tolist() == [3]
