"""What GFX9 adds to memory instructions: segments of FLAT with bases and offsets, halves of
registers, offsets of scalar loads, LDS without a bound in M0."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.access import VectorAccess
from gpu.compute_unit.memory_ops.access_shape import Movement, movement_of
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.encoding.operands import NO_BASE
from gpu.memory.flat_memory import FlatMemory
from gpu.wave_size import LANES
from tests.gpu.compute_unit import encoding
from tests.gpu.compute_unit.encoding import NAMES, perform, set_pair
from tests.gpu.compute_unit.harness import PRIVATE_APERTURE, SHARED_APERTURE

GFX9 = Generation.GFX9
WAVE = np.arange(LANES)
KEPT = 0x5555_AAAA
STEP = 16
operation = partial(encoding.operation, generation=GFX9)
wavefront = partial(encoding.wavefront, generation=GFX9)

HALVES = sorted(
    name.removeprefix("flat_")
    for generation, form, name in NAMES
    if generation is GFX9 and form == "FLAT" and "d16" in name
)


def _filled(memory: FlatMemory, size: int) -> tuple[int, bytes]:
    data = np.random.default_rng(1).integers(0, 256, size, np.uint8).tobytes()
    address = memory.space.allocate(size).start
    memory.write(address, data)
    return address, data


def _move(name: str) -> Movement:
    move = movement_of(name)
    assert move is not None
    return move


@pytest.mark.parametrize("offset", [0, 48, -32, -4096, 4095])
@pytest.mark.parametrize("based", [False, True])
def test_global_addresses(based: bool, offset: int) -> None:
    """Lanes have addresses, or 32-bit offsets from a scalar base; the offset is signed."""
    memory = FlatMemory()
    address, data = _filled(memory, 64 * STEP)
    wave = wavefront()
    begin = address - offset
    if based:
        wave.sgprs[4:6] = [begin & 0xFFFF_FFFF, begin >> 32 & 0xFFFF_FFFF]
        wave.vgprs[2] = STEP * WAVE
    else:
        set_pair(wave, 2, begin + STEP * WAVE.astype(np.uint64))
    fields = {"addr": 2, "vdst": 8, "offset": offset & 0x1FFF}
    load = operation("GLOBAL", "global_load_dwordx2", saddr=4 if based else NO_BASE, **fields)
    perform(load, wave, memory)
    words = np.frombuffer(data, np.uint32).reshape(64, -1)[:, :2]
    assert np.array_equal(wave.vgprs[8:10].T, words)


def test_an_offset_from_a_base_is_unsigned() -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 256)
    wave = wavefront()
    begin = address - 0xFFFF_FF00
    wave.sgprs[4:6] = [begin & 0xFFFF_FFFF, begin >> 32]
    wave.vgprs[2] = 0xFFFF_FF00 + 4 * WAVE
    perform(operation("GLOBAL", "global_load_dword", saddr=4, addr=2, vdst=8), wave, memory)
    assert np.array_equal(wave.vgprs[8], np.frombuffer(data, np.uint32))


@pytest.mark.parametrize("returns", [0, 1])
def test_global_atomics(returns: int) -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 256)
    wave = wavefront()
    set_pair(wave, 2, address + 4 * WAVE.astype(np.uint64))
    wave.vgprs[4], wave.vgprs[8] = 1000 + WAVE, KEPT
    fields = {"addr": 2, "data": 4, "vdst": 8 if returns else 0, "glc": returns}
    perform(operation("GLOBAL", "global_atomic_add", saddr=NO_BASE, **fields), wave, memory)
    before = np.frombuffer(data, np.uint32)
    after = np.frombuffer(memory.read(address, 256), np.uint32)
    assert np.array_equal(after, before + (1000 + WAVE).astype(np.uint32))
    assert np.array_equal(wave.vgprs[8], before if returns else np.full(LANES, KEPT))


@pytest.mark.parametrize("offset", [0, 8, 4095])
def test_flat_offsets_are_added_before_the_aperture_is_looked_at(offset: int) -> None:
    memory = FlatMemory()
    wave = wavefront(lds=4096 + 256, private_bytes=8192, memory=memory)
    base = wave.private_base
    wave.sgprs[102:104] = [base & 0xFFFF_FFFF, base >> 32]
    for aperture in (SHARED_APERTURE, PRIVATE_APERTURE):
        set_pair(wave, 2, (np.uint64(aperture) << np.uint64(32)) + 4 * WAVE.astype(np.uint64))
        wave.vgprs[4] = 7 * WAVE
        wave.vgprs[8] = KEPT
        perform(operation("FLAT", "flat_store_dword", addr=2, data=4, offset=offset), wave, memory)
        load = operation("FLAT", "flat_load_dword", addr=2, vdst=8, offset=offset)
        access = perform(load, wave, memory)
        assert isinstance(access, VectorAccess)
        assert {part.local for part in access.parts} == {aperture == SHARED_APERTURE}
        assert np.array_equal(wave.vgprs[8], 7 * WAVE)


@pytest.mark.parametrize("based", [False, True])
def test_scratch_is_swizzled_by_lanes(based: bool) -> None:
    memory = FlatMemory()
    wave = wavefront(private_bytes=64, memory=memory)
    base = wave.private_base
    wave.sgprs[102:104] = [base & 0xFFFF_FFFF, base >> 32]
    wave.sgprs[5] = 24
    wave.vgprs[2], wave.vgprs[4] = 24, 100 + WAVE
    wave.vgprs[5] = 500 + WAVE
    places = {"saddr": 5} if based else {"saddr": NO_BASE, "addr": 2}
    fields = {"offset": -8 & 0x1FFF, **places}
    perform(operation("SCRATCH", "scratch_store_dwordx2", data=4, **fields), wave, memory)
    stored = np.frombuffer(memory.read(base, 64 * 64), np.uint32).reshape(16, 64)
    assert np.array_equal(stored[4], 100 + WAVE) and np.array_equal(stored[5], 500 + WAVE)
    assert np.count_nonzero(stored) == 2 * LANES
    perform(operation("SCRATCH", "scratch_load_dword", vdst=8, **fields), wave, memory)
    assert np.array_equal(wave.vgprs[8], 100 + WAVE)
    with pytest.raises(LaneError, match="private offset 0x40"):
        beyond = {**fields, "offset": 40}
        perform(operation("SCRATCH", "scratch_load_dword", vdst=8, **beyond), wave, memory)


@pytest.mark.parametrize("form", ["FLAT", "GLOBAL", "SCRATCH", "MUBUF"])
@pytest.mark.parametrize("name", HALVES)
def test_halves_of_registers(form: str, name: str) -> None:
    memory = FlatMemory()
    wave = wavefront(private_bytes=64, memory=memory)
    address, data = _filled(memory, 64 * STEP)
    if form == "SCRATCH":
        address = wave.private_base
        data = np.random.default_rng(2).integers(0, 256, 64 * 64, np.uint8).tobytes()
        memory.write(address, data)
    move = _move("flat_" + name)
    rows = np.random.default_rng(3).integers(0, 1 << 32, LANES, np.uint64).astype(np.uint32)
    wave.vgprs[8] = rows
    wave.set_exec((1 << 64) - 1 ^ 0xFF00)
    places = _places(wave, form, address)
    if form != "MUBUF":
        places["data" if "store" in name else "vdst"] = 8
    perform(operation(form, f"{_prefix(form)}_{name}", **places), wave, memory)
    there = memory.read(address, len(data))
    for lane in range(LANES):
        at = 4 * lane if form == "SCRATCH" else STEP * lane
        old, active = int(rows[lane]), not 8 <= lane < 16
        if "store" in name:
            half = (old >> 16).to_bytes(2, "little")[: move.bytes]
            assert there[at : at + move.bytes] == (half if active else data[at : at + move.bytes])
            continue
        octets = data[at : at + move.bytes]
        value = int.from_bytes(octets, "little", signed=move.signed) & 0xFFFF
        high = name.endswith("_hi")
        wanted = value << 16 | old & 0xFFFF if high else value | old & 0xFFFF_0000
        assert int(wave.vgprs[8][lane]) == (wanted if active else old)


def _prefix(form: str) -> str:
    return "buffer" if form == "MUBUF" else form.lower()


def _places(wave: Wavefront, form: str, address: int) -> dict[str, int]:
    """Fields of a move of v8, for a place of each lane's own."""
    if form == "MUBUF":
        wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32 | STEP << 16, LANES * STEP, 1 << 23]
        return {"srsrc": 1, "vdata": 8, "soffset": 128}
    if form == "SCRATCH":
        wave.sgprs[102:104] = [address & 0xFFFF_FFFF, address >> 32]
        wave.vgprs[2] = 0
        places = {"addr": 2, "saddr": NO_BASE}
    else:
        set_pair(wave, 2, address + STEP * WAVE.astype(np.uint64))
        places = {"addr": 2} | ({"saddr": NO_BASE} if form == "GLOBAL" else {})
    return places


@pytest.mark.parametrize("imm, offset, wanted", [(1, 24, 6), (1, -8 & 0x1F_FFFF, -2), (0, 7, 6)])
def test_scalar_offsets_are_signed(imm: int, offset: int, wanted: int) -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 256)
    words = np.frombuffer(data, np.uint32)
    wave = wavefront()
    begin = address + 128
    wave.sgprs[4:6] = [begin & 0xFFFF_FFFF, begin >> 32]
    wave.sgprs[7] = 24
    perform(
        operation("SMEM", "s_load_dword", sbase=2, sdata=16, imm=imm, offset=offset), wave, memory
    )
    assert wave.sgprs[16] == words[32 + wanted]


@pytest.mark.parametrize("imm", [0, 1])
def test_scalar_loads_with_two_offsets(imm: int) -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 256)
    wave = wavefront()
    wave.sgprs[4:6] = [address & 0xFFFF_FFFF, address >> 32]
    wave.sgprs[7] = 32
    fields = {"imm": imm, "offset": -8 & 0x1F_FFFF if imm else 0, "soffset_en": 1, "soffset": 7}
    perform(operation("SMEM", "s_load_dword", sbase=2, sdata=16, **fields), wave, memory)
    assert wave.sgprs[16] == np.frombuffer(data, np.uint32)[6 if imm else 8]


def test_m0_is_no_bound_of_lds() -> None:
    wave = wavefront(lds=512)
    wave.sgprs[124] = 0
    wave.vgprs[2], wave.vgprs[4] = 4 * WAVE, 9 * WAVE
    perform(operation("DS", "ds_write_b32", addr=2, data0=4), wave)
    perform(operation("DS", "ds_read_b32", addr=2, vdst=8), wave)
    assert np.array_equal(wave.vgprs[8], 9 * WAVE)
    wave.vgprs[2] = 1 << 20
    perform(operation("DS", "ds_read_b32", addr=2, vdst=8), wave)
    assert not wave.vgprs[8].any()


def test_lds_by_lane_number() -> None:
    wave = wavefront(lds=1024)
    wave.sgprs[124] = 0xFFFF_0040
    wave.vgprs[4] = 3 * WAVE
    wave.set_exec(0xF0F0)
    perform(operation("DS", "ds_write_addtid_b32", data0=4, offset0=8), wave)
    there = wave.group.lds.load(np.arange(0, 1024, 4), 4, 1024)
    assert {at: int(value) for at, value in enumerate(there.tolist()) if value} == {
        (0x48 >> 2) + lane: 3 * lane for lane in range(LANES) if 0xF0F0 >> lane & 1
    }
    perform(operation("DS", "ds_read_addtid_b32", vdst=8, offset0=8), wave)
    assert [int(wave.vgprs[8][lane]) for lane in (4, 5, 6, 7, 8, 12)] == [12, 15, 18, 21, 0, 36]


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(
    "kind, size, signed", [("u8", 1, False), ("i8", 1, True), ("u16", 2, False)]
)
def test_lds_into_halves(kind: str, size: int, signed: bool, half: int) -> None:
    wave = wavefront(lds=256)
    data = np.random.default_rng(5).integers(0, 1 << 32, LANES, np.uint64).astype(np.uint32)
    wave.vgprs[2], wave.vgprs[4] = 4 * WAVE, data
    perform(operation("DS", "ds_write_b32", addr=2, data0=4), wave)
    wave.vgprs[8] = KEPT
    perform(operation("DS", f"ds_read_{kind}_d16{'_hi' if half else ''}", addr=2, vdst=8), wave)
    for lane, word in enumerate(data.tolist()):
        octets = word.to_bytes(4, "little")[:size]
        value = int.from_bytes(octets, "little", signed=signed) & 0xFFFF
        wanted = value << 16 | KEPT & 0xFFFF if half else value | KEPT & 0xFFFF_0000
        assert int(wave.vgprs[8][lane]) == wanted


@pytest.mark.parametrize("bits", [8, 16])
def test_upper_halves_into_lds(bits: int) -> None:
    wave = wavefront(lds=256)
    wave.vgprs[2], wave.vgprs[4] = 4 * WAVE, 0x1234_5678 + (WAVE << 16)
    perform(operation("DS", f"ds_write_b{bits}_d16_hi", addr=2, data0=4), wave)
    perform(operation("DS", "ds_read_b32", addr=2, vdst=8), wave)
    assert np.array_equal(wave.vgprs[8], (0x1234 + WAVE) & (1 << bits) - 1)
