"""FLAT and MUBUF instructions, each against a model of one lane after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.access_shape import movement_of
from gpu.compute_unit.wave.lane_values import LaneError, lanes_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.memory.flat_memory import FlatMemory
from gpu.wave_size import LANES
from runtime.types.atomic_op import AtomicOp
from tests.gpu.compute_unit.encoding import (
    NAMES,
    get_pair,
    operation,
    perform,
    set_pair,
    wavefront,
)
from tests.gpu.compute_unit.harness import PRIVATE_APERTURE, SHARED_APERTURE

WAVE = np.arange(LANES)
SWIZZLED = 1 << 31
ADD_TID = 1 << 23
ELEMENTS = 3 << 21 | 1 << 19
SCRATCH = [SWIZZLED, 0xFFFF_FFFF, ADD_TID | ELEMENTS]
"""Words 1 to 3 of the V# of a private segment: elements of 4 bytes, 64 lanes side by side."""

MOVES = {
    name: move
    for generation, form, name in NAMES
    if generation is Generation.GFX8
    and form in ("FLAT", "MUBUF")
    and (move := movement_of(name)) is not None
}
LOADS = sorted(name for name in MOVES if name.startswith("flat_load"))
STORES = sorted(name for name in MOVES if name.startswith("flat_store"))
ATOMICS = sorted(name for name in MOVES if "_atomic_" in name)


def _filled(memory: FlatMemory, size: int, seed: int = 1) -> tuple[int, bytes]:
    data = np.random.default_rng(seed).integers(0, 256, size, np.uint8).tobytes()
    address = memory.space.allocate(size).start
    memory.write(address, data)
    return address, data


def set_buffer(
    wave: Wavefront, address: int, records: int, stride: int = 0, swizzled: bool = False
) -> None:
    """A V# in s[8:11]; swizzled, its elements lie as in a private segment."""
    high = address >> 32 | stride << 16 | SWIZZLED * swizzled
    wave.sgprs[8:12] = [address & 0xFFFF_FFFF, high, records, ELEMENTS * swizzled]


def test_both_forms_have_the_same_moves() -> None:
    assert (len(LOADS), len(STORES)) == (8, 6)
    assert len(ATOMICS) == 52
    flat = {name.removeprefix("flat_") for name in MOVES if name.startswith("flat_")}
    assert flat == {name.removeprefix("buffer_") for name in MOVES if name.startswith("buffer_")}


@pytest.mark.parametrize("step", [16, 17], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("name", LOADS)
def test_loads(name: str, step: int) -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 64 * 20)
    wave = wavefront()
    wave.set_exec((1 << 64) - 1 ^ 0xFF00)
    set_pair(wave, 2, address + step * WAVE.astype(np.uint64))
    wave.vgprs[8:12] = 0x5555_5555
    perform(operation("FLAT", name, addr=2, vdst=8), wave, memory)
    move = MOVES[name]
    count = max(1, move.bytes // 4)
    for lane in range(LANES):
        found = wave.vgprs[8:12, lane].tolist()
        expected = [0x5555_5555] * 4
        if not 8 <= lane < 16:
            octets = data[step * lane : step * lane + move.bytes]
            if move.bytes < 4:
                value = int.from_bytes(octets, "little", signed=move.signed)
                octets = value.to_bytes(4, "little", signed=move.signed)
            expected[:count] = np.frombuffer(octets, np.uint32).tolist()
        assert found == expected


@pytest.mark.parametrize("step", [16, 17], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("name", STORES)
def test_stores(name: str, step: int) -> None:
    memory = FlatMemory()
    address, before = _filled(memory, 64 * 20)
    wave = wavefront()
    wave.set_exec(0xFFFF_0000_FFFF_00FF)
    set_pair(wave, 2, address + step * WAVE.astype(np.uint64))
    wave.vgprs[4:8] = np.random.default_rng(2).integers(0, 1 << 32, (4, LANES), np.uint32)
    perform(operation("FLAT", name, addr=2, data=4), wave, memory)
    expected = bytearray(before)
    size = MOVES[name].bytes
    for lane in range(LANES):
        if wave.exec >> lane & 1:
            expected[step * lane : step * lane + size] = wave.vgprs[4:8, lane].tobytes()[:size]
    assert memory.read(address, len(before)) == expected


@pytest.mark.parametrize("space", ["global", "lds"])
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name: str, returns: bool, space: str) -> None:
    """Some lanes conflict on a word: one after the other, in lane order."""
    flat = name.startswith("flat_")
    if space == "lds" and not flat:
        return
    move = MOVES[name]
    size = move.bytes
    memory = FlatMemory()
    address, before = _filled(memory, 64 * size)
    wave = wavefront(lds=64 * size)
    wave.group.lds.bytes[:] = np.frombuffer(before, np.uint8)
    wave.set_exec(0xFFFF_FFFF_0000_FFFF)
    random = np.random.default_rng(3)
    places = random.integers(0, 40, LANES)
    words = np.frombuffer(before, np.uint32 if size == 4 else np.uint64)
    operands = random.integers(0, 1 << 8 * size, LANES, np.uint64)
    compares = np.where(WAVE % 2, words[places], 1).astype(np.uint64)
    values = (operands, compares) if move.compares else (operands,)
    for number, each in enumerate(values):
        if size == 8:
            set_pair(wave, 4 + 2 * number, each)
        else:
            wave.vgprs[4 + number] = each
    start = address if space == "global" else SHARED_APERTURE << 32
    result = 4
    if flat:
        set_pair(wave, 2, start + size * places.astype(np.uint64))
        result = 10
        done = operation("FLAT", name, addr=2, data=4, vdst=10 * returns, glc=returns)
    else:
        wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32, 64 * size, 0]
        wave.vgprs[2] = size * places
        done = operation(
            "MUBUF", name, vaddr=2, vdata=4, srsrc=1, offen=1, soffset=128, glc=returns
        )
    wave.vgprs[10:12] = 0x5555_5555
    kept = get_pair(wave, result) if size == 8 else wave.vgprs[result].copy()
    perform(done, wave, memory)
    model, returned = words.tolist(), kept.tolist()
    for lane in range(LANES):
        if wave.exec >> lane & 1:
            place = int(places[lane])
            if returns:
                returned[lane] = model[place]
            mask = (1 << 8 * size) - 1
            op = AtomicOp(move.op, int(operands[lane]) & mask, size, int(compares[lane]) & mask)
            model[place] = op.apply(model[place])
    in_memory = np.frombuffer(memory.read(address, len(before)), words.dtype)
    in_lds = wave.group.lds.bytes.view(words.dtype)
    changed, other = (in_memory, in_lds) if space == "global" else (in_lds, in_memory)
    assert changed.tolist() == model
    assert other.tolist() == words.tolist()
    found = get_pair(wave, result) if size == 8 else wave.vgprs[result]
    assert found.tolist() == returned


def test_scratch_through_the_private_aperture_is_swizzled_whatever_the_alignment() -> None:
    memory = FlatMemory()
    wave = wavefront(memory=memory, private_bytes=64)
    base = wave.private_base
    set_pair(wave, 2, (PRIVATE_APERTURE << 32) + (WAVE % 5).astype(np.uint64))
    wave.vgprs[4:8] = np.random.default_rng(2).integers(0, 1 << 32, (4, LANES), np.uint32)
    perform(operation("FLAT", "flat_store_dwordx4", addr=2, data=4), wave, memory)
    for lane in range(LANES):
        stored = wave.vgprs[4:8, lane].tobytes()
        for number, octet in enumerate(stored):
            place = lane % 5 + number
            address = base + place // 4 * 256 + 4 * lane + place % 4
            assert memory.read(address, 1)[0] == octet
    perform(operation("FLAT", "flat_load_dwordx4", addr=2, vdst=8), wave, memory)
    assert (wave.vgprs[8:12] == wave.vgprs[4:8]).all()


def test_scratch_beyond_the_private_segment_names_lane_and_size() -> None:
    memory = FlatMemory()
    wave = wavefront(memory=memory, private_bytes=64)
    offsets = np.zeros(LANES, np.uint64)
    offsets[11] = 61
    set_pair(wave, 2, (PRIVATE_APERTURE << 32) + offsets)
    with pytest.raises(LaneError, match="lane 11: 4 bytes at private offset 0x3d, but a work"):
        perform(operation("FLAT", "flat_load_dword", addr=2, vdst=4), wave, memory)


@pytest.mark.parametrize(
    "index, offset, expected",
    [(False, False, [24] * 64), (False, True, 24 + 4 * WAVE), (True, False, 24 + 12 * WAVE)],
)
def test_linear_buffers(index: bool, offset: bool, expected: np.ndarray) -> None:
    """Base, scalar offset, offset in the instruction, index times stride."""
    memory = FlatMemory()
    address, data = _filled(memory, 4096)
    wave = wavefront()
    set_buffer(wave, address, 4096, stride=12)
    wave.sgprs[3] = 8
    wave.vgprs[5] = WAVE if index else 4 * WAVE
    done = operation(
        "MUBUF", "buffer_load_dword", vaddr=5 * (index or offset), vdata=6, srsrc=2, soffset=3,
        offset=16, idxen=index, offen=offset,
    )  # fmt: skip
    perform(done, wave, memory)
    words = [int.from_bytes(data[place : place + 4], "little") for place in expected]
    assert wave.vgprs[6].tolist() == words


def test_index_and_offset_from_two_registers() -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 4096)
    wave = wavefront()
    set_buffer(wave, address, 4096, stride=8)
    wave.vgprs[5], wave.vgprs[6] = WAVE, 4 * (WAVE % 2)
    done = operation(
        "MUBUF", "buffer_load_dwordx2", vaddr=5, vdata=8, srsrc=2, soffset=128, idxen=1, offen=1
    )
    perform(done, wave, memory)
    places = 8 * WAVE + 4 * (WAVE % 2)
    expected = [int.from_bytes(data[place : place + 8], "little") for place in places]
    assert get_pair(wave, 8).tolist() == expected


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("generation", Generation)
def test_the_format_is_part_of_the_stride_where_lanes_are_added(
    generation: Generation, adds: bool
) -> None:
    """32 bits are format 4: records are then 64 KiB further apart."""
    memory = FlatMemory()
    address, data = _filled(memory, 1 << 19)
    wave = wavefront(generation=generation)
    wave.set_exec(1 << 5 | 1 << 2 | 1)
    set_buffer(wave, address, 1 << 19, stride=12)
    wave.sgprs[11] = 4 << 15 | ADD_TID * adds
    wave.vgprs[5] = 4 * (WAVE % 3)
    load = operation(
        "MUBUF", "buffer_load_dword", generation, vaddr=5, vdata=6, srsrc=2, soffset=128, offen=1
    )
    perform(load, wave, memory)
    for lane in (0, 2, 5):
        place = 4 * (lane % 3) + (65536 + 12) * lane * adds
        assert wave.vgprs[6, lane] == int.from_bytes(data[place : place + 4], "little")


def test_a_buffer_ends_at_its_records() -> None:
    """Loads beyond give zero, stores are dropped, atomics return zero; the scalar offset counts."""
    memory = FlatMemory()
    address, data = _filled(memory, 512)
    wave = wavefront()
    set_buffer(wave, address, 100)
    wave.vgprs[5] = 4 * WAVE
    fields = {"vaddr": 5, "vdata": 6, "srsrc": 2, "soffset": 132, "offen": 1}
    perform(operation("MUBUF", "buffer_load_dword", **fields), wave, memory)
    words = np.frombuffer(data, np.uint32)[1:65].copy()
    assert wave.vgprs[6].tolist() == [*words[:24].tolist(), *[0] * 40]
    perform(operation("MUBUF", "buffer_atomic_add", glc=1, **fields), wave, memory)
    assert wave.vgprs[6].tolist() == [*words[:24].tolist(), *[0] * 40]
    wave.vgprs[6] = 9
    perform(operation("MUBUF", "buffer_store_dword", **fields), wave, memory)
    stored = np.frombuffer(memory.read(address, 512), np.uint32)
    assert (stored[1:25] == 9).all()
    assert (stored[25:65] == words[24:]).all()


def _each_dword(
    wave: Wavefront, words: int, bound: int, place_of: Callable[[int, int], int]
) -> None:
    """Load and store through the buffer in s[8:11] from v5 on, against a model: bytes from
    ``bound`` on are beyond, byte b of lane l is at ``place_of(l, b)``."""
    memory = FlatMemory()
    address, data = _filled(memory, 8192)
    wave.sgprs[8:10] = [address & 0xFFFF_FFFF, address >> 32 | wave.sgprs[9]]
    wave.set_exec((1 << 64) - 1 ^ 0xF0F0)
    wave.vgprs[8:12] = 0x5555_5555
    wave.vgprs[12:16] = np.random.default_rng(2).integers(0, 1 << 32, (4, LANES), np.uint32)
    loaded, stored = wave.vgprs[8:12].copy(), bytearray(data)
    for lane in lanes_of(wave.exec).tolist():
        for number in range(words):
            first = int(wave.vgprs[5, lane]) + 4 * number
            places = [place_of(lane, each) for each in range(first, first + 4)]
            loaded[number, lane] = 0
            if first + 4 <= bound:
                octets = bytes(data[place] for place in places)
                loaded[number, lane] = int.from_bytes(octets, "little")
                for place, octet in zip(places, wave.vgprs[12 + number, lane].tobytes()):
                    stored[place] = octet
    fields = {"vaddr": 5, "srsrc": 2, "soffset": 128, "offen": 1}
    perform(operation("MUBUF", f"buffer_load_dwordx{words}", vdata=8, **fields), wave, memory)
    assert np.array_equal(wave.vgprs[8:12], loaded)
    perform(operation("MUBUF", f"buffer_store_dwordx{words}", vdata=12, **fields), wave, memory)
    assert memory.read(address, len(data)) == stored


@pytest.mark.parametrize("step", [20, 21], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("words", [2, 3, 4])
def test_each_of_several_dwords_has_bounds_of_its_own(words: int, step: int) -> None:
    """A dword of which a byte is beyond is beyond. Stores leave out what loads find zero."""
    for bound in range(41 * step, 42 * step):
        wave = wavefront()
        wave.sgprs[10] = bound
        wave.vgprs[5] = step * WAVE
        _each_dword(wave, words, bound, lambda lane, place: place)


@pytest.mark.parametrize("step", [4, 3], ids=["aligned", "misaligned"])
@pytest.mark.parametrize("words", [2, 3, 4])
def test_so_it_has_in_a_swizzled_buffer(words: int, step: int) -> None:
    """Where each record has 102 bytes."""
    wave = wavefront()
    wave.sgprs[9:12] = [SWIZZLED | 102 << 16, LANES, SCRATCH[2]]
    wave.vgprs[5] = step * (WAVE % 40)
    _each_dword(wave, words, 102, lambda lane, place: place // 4 * 256 + 4 * lane + place % 4)


@pytest.mark.parametrize("stride", [0, 8])
@pytest.mark.parametrize("swizzled", [False, True])
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("generation", Generation)
def test_what_the_number_of_records_counts(
    generation: Generation, indexed: bool, swizzled: bool, stride: int
) -> None:
    """Records of the stride: of GFX8 in a swizzled buffer, of GFX9 for an index; else bytes."""
    memory = FlatMemory()
    address, data = _filled(memory, 8192)
    wave = wavefront(generation=generation)
    set_buffer(wave, address, 40, stride, swizzled)
    wave.sgprs[3] = 4
    wave.vgprs[5], wave.vgprs[6] = WAVE, 4 * (WAVE % 2)
    fields = {"vaddr": 5 if indexed else 6, "idxen": indexed, "offen": 1, "soffset": 3}
    load = operation("MUBUF", "buffer_load_dword", generation, vdata=8, srsrc=2, **fields)
    perform(load, wave, memory)
    counts_records = swizzled if generation is Generation.GFX8 else indexed
    for lane in range(LANES):
        index, offset = lane if indexed else 0, 4 * (lane % 2)
        linear = index * stride + offset
        within = index < 40 if counts_records and stride else linear + 4 <= 40 - 4
        place = linear + 4
        if swizzled:  # dwords of 64 records side by side
            place = 64 * offset + 4 * index + 4
        wanted = int.from_bytes(data[place : place + 4], "little") if within else 0
        assert wave.vgprs[8, lane] == wanted


def test_an_atomic_of_two_dwords_has_them_both_or_none() -> None:
    memory = FlatMemory()
    address, data = _filled(memory, 512)
    wave = wavefront()
    set_buffer(wave, address, 100)
    wave.vgprs[5] = 8 * WAVE
    wave.vgprs[6:8] = 0xFFFF_FFFF
    fields = {"vaddr": 5, "vdata": 6, "srsrc": 2, "soffset": 128, "offen": 1, "glc": 1}
    perform(operation("MUBUF", "buffer_atomic_swap_x2", **fields), wave, memory)
    pairs = np.frombuffer(data, np.uint64)
    assert get_pair(wave, 6).tolist() == [*pairs[:12].tolist(), *[0] * 52]
    after = np.frombuffer(memory.read(address, 512), np.uint64)
    assert after[12:].tolist() == pairs[12:].tolist()


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("name", ["ushort", "dword"])
def test_elements_of_two_bytes(name: str, generation: Generation) -> None:
    """GFX8 has them, and nothing says what a dword in them is; on GFX9 all have 4 bytes."""
    memory = FlatMemory()
    address, data = _filled(memory, 64 * 64)
    wave = wavefront(0, memory, 0, generation)
    wave.sgprs[8:12] = [address & 0xFFFF_FFFF, address >> 32 | SWIZZLED, 1 << 20, ADD_TID | 3 << 21]
    fields = {"vdata": 6, "srsrc": 2, "soffset": 128, "offset": 4}
    done = operation("MUBUF", f"buffer_load_{name}", generation=generation, **fields)
    two = generation is Generation.GFX8
    if two and name == "dword":
        with pytest.raises(NotImplementedInstruction, match=r"4 bytes at once .* 2-byte elements"):
            done.execute(wave)
        return
    perform(done, wave, memory)
    size = 2 if name == "ushort" else 4
    places = 256 + (2 if two else 4) * WAVE
    expected = [int.from_bytes(data[place : place + size], "little") for place in places]
    assert wave.vgprs[6].tolist() == expected


@pytest.mark.parametrize("name, size", [("ubyte", 1), ("ushort", 2), ("dword", 4), ("dwordx3", 12)])
def test_private_segments_through_a_buffer(name: str, size: int) -> None:
    """``wave base + a / 4 * 256 + 4 * lane + a % 4`` for private byte ``a``."""
    memory = FlatMemory()
    address, data = _filled(memory, 64 * 64)
    wave = wavefront()
    wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32 | SCRATCH[0], *SCRATCH[1:]]
    wave.sgprs[9] = 512
    wave.vgprs[5] = np.arange(LANES) % 4 * size
    done = operation(
        "MUBUF", f"buffer_load_{name}", vaddr=5, vdata=8, srsrc=1, soffset=9, offen=1, offset=4
    )
    perform(done, wave, memory)
    for lane in range(LANES):
        first = lane % 4 * size + 4
        places = [512 + a // 4 * 256 + 4 * lane + a % 4 for a in range(first, first + size)]
        octets = bytes(data[place] for place in places)
        found = wave.vgprs[8 : 8 + max(1, size // 4), lane].tobytes()[:size]
        assert found == octets


@pytest.mark.parametrize("name, size", [("dword", 4), ("sbyte", 1)])
def test_loads_into_lds(name: str, size: int) -> None:
    """A dword a lane from M0 and the offset on; registers keep what they had."""
    memory = FlatMemory()
    address, data = _filled(memory, 512)
    wave = wavefront(lds=1024)
    wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32, 512, 0]
    wave.sgprs[124] = 64
    wave.set_exec(0xFFFF_FFFF)
    wave.vgprs[2] = size * WAVE
    done = operation(
        "MUBUF", f"buffer_load_{name}", vaddr=2, vdata=8, srsrc=1, offen=1, soffset=128, offset=8,
        lds=1,
    )  # fmt: skip
    perform(done, wave, memory)
    kind = np.int32 if size == 4 else np.int8
    loaded = np.frombuffer(data[8 : 8 + 32 * size], kind).astype(np.int32)
    assert wave.group.lds.dwords.view(np.int32)[18:50].tolist() == loaded.tolist()
    assert np.count_nonzero(wave.group.lds.dwords[:18]) == 0
    assert np.count_nonzero(wave.group.lds.dwords[50:]) == 0
    assert np.count_nonzero(wave.vgprs[8]) == 0


def test_no_active_lane_no_access() -> None:
    wave = wavefront()
    wave.set_exec(0)
    assert operation("FLAT", "flat_load_dword", addr=2, vdst=4).execute(wave) is None
    assert operation("DS", "ds_write_b32", addr=2, data0=4).execute(wave) is None


def test_a_later_change_of_the_address_register_changes_nothing() -> None:
    """What an instruction needs is read when it executes."""
    memory = FlatMemory()
    address, data = _filled(memory, 256)
    wave = wavefront()
    set_pair(wave, 2, address + 4 * WAVE.astype(np.uint64))
    access = operation("FLAT", "flat_load_dword", addr=2, vdst=4).execute(wave)
    assert access is not None
    wave.vgprs[2:4] = 0
    wave.set_exec(1)
    access.perform(memory)
    access.complete()
    assert wave.vgprs[4].tobytes() == data
