"""Units that run ahead do at every tick what units do that carry out what issues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu.compute_unit.native import issue_engine
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.generation import Generation
from gpu.memory.address_space import PAGE
from gpu.memory.coherent import native_backend
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.native_backend import NativeBackend, OutOfRoom
from runtime.native.plan import Capacities
from tests.gpu.compute_unit.machine_code import code
from tests.gpu.compute_unit.native.random_programs import Writer, program
from tests.gpu.compute_unit.native.units import RESULTS, Outcome, Setup, library, run
from tests.gpu.memory.coherent.streams import opened
from tests.sampling import sampled

SEEDS = 6
MORE = 400
_INLINE, _LITERAL, _VGPR = 128, 255, 256
"""Operands: 0, the number behind the instruction, v0."""


def setup_of(seed: int, mistakes: float = 0, generation: Generation = Generation.GFX8) -> Setup:
    """A program, and units that it runs on; both drawn."""
    numbers = np.random.default_rng(seed)

    def one(*values: int) -> int:
        return int(numbers.choice(values))

    timing = Timing(
        vector_cycles=one(1, 4, 7),
        scalar_cycles=one(1, 4),
        branch_cycles=one(1, 4, 9),
        fetch_bytes=one(8, 16, 32, 64),
        buffer_bytes=128,
        lines_per_cycle=one(1, 4),
        memory_queue=one(1, 2, 16),
        address_cycles=one(1, 4),
        lds_cycles=one(1, 32),
        scalar_memory_cycles=one(1, 4),
        sleep_cycles=one(1, 16),
    )
    return Setup(
        program(seed, mistakes=mistakes, generation=generation),
        generation=generation,
        groups=one(1, 1, 3, 3, 3, 9, 9, 40),  # 40 of four waves are more than fit
        items=one(64, 100, 256),
        timing=timing,
        policy=("oldest-first", "round-robin")[one(0, 1)],
        stops=(None, 1, 13, 200)[one(0, 1, 2, 3)],
    )


def both(setup: Setup, seed: int) -> tuple[Outcome, Outcome]:
    """On units that do not run ahead, and on those that do."""
    library()
    delays = ("nominal", "uniform")[seed % 2]
    one, other = (opened("GPU_VIPER", 2, 2, delays, seed, "native") for _ in range(2))
    return run(setup, one, False), run(setup, other, True)


@pytest.mark.parametrize("generation", Generation)
@pytest.mark.parametrize("seed", sampled(range(SEEDS), 6))
def test_the_same_at_every_tick(seed: int, generation: Generation) -> None:
    expected, found = both(setup_of(seed, generation=generation), seed)
    assert found == expected
    assert not expected.faults and expected.transitions > 100


@pytest.mark.parametrize("seed", sampled(range(SEEDS), 3))
def test_the_same_mistakes(seed: int) -> None:
    expected, found = both(setup_of(seed, mistakes=0.1), seed)
    assert found.faults == expected.faults
    assert found == expected


@pytest.mark.parametrize("order", [("exchange", "read"), ("read", "exchange")])
def test_two_results_of_lds_for_one_register(order: tuple[str, ...]) -> None:
    """Only reads are carried out by native code; the later of the two has to win."""
    writer = Writer(0)
    writer.begin()
    writer.add("DS", "ds_write_b32", addr=1, data0=6)
    together(writer)
    for each in order:
        if each == "exchange":
            writer.add("DS", "ds_swizzle_b32", addr=4, vdst=5)
        else:
            writer.add("DS", "ds_read_b32", addr=1, vdst=5)
    writer.finish()
    expected, found = both(Setup(writer.code, groups=1, items=64), 0)
    assert found == expected


def together(writer: Writer) -> None:
    """What follows is fetched together."""
    while len(writer.code) % Timing().fetch_bytes:
        writer.add("SOPP", "s_nop")


def test_answers_that_overtake_the_first_load_wake_no_wave() -> None:
    """A wave whose counter is full waits until an instruction has returned, in both units."""
    expected, found = both(Setup(code("overtaken"), groups=1, items=64), 0)
    assert "a counter at its maximum" in str(found.statistics)
    assert found == expected


def test_two_scalar_loads_into_one_register() -> None:
    """The first one is carried out by the issue engine, and hits; the later one to return wins."""
    writer = Writer(0)
    writer.begin()
    writer.add("SMEM", "s_load_dword", sbase=0, sdata=10, imm=1, offset=0)
    writer.add("SOPP", "s_waitcnt", simm16=0)
    together(writer)
    writer.add("SMEM", "s_load_dwordx2", sbase=0, sdata=4, imm=1, offset=8)
    writer.add("SMEM", "s_load_dword", sbase=0, sdata=4, imm=1, offset=256)
    writer.finish()
    expected, found = both(Setup(writer.code, groups=1, items=64), 0)
    assert found == expected


def test_lds_and_memory_into_one_register() -> None:
    """The atomic in LDS is carried out by Python, and returns before the load."""
    writer = Writer(0)
    writer.begin()
    together(writer)
    writer.move("load_dwordx2", addr=2, vdst=11)
    writer.add("DS", "ds_add_rtn_u32", addr=1, data0=5, vdst=12)
    writer.finish()
    expected, found = both(Setup(writer.code, groups=1, items=64), 0)
    assert found == expected


@pytest.mark.parametrize("spread", [0, 9])
def test_stores_to_doorbells_among_others(spread: int) -> None:
    """They are handed back to Python when they would leave, and return in their turn; ``spread``:
    of some lanes only."""
    library()
    writer = Writer(0)
    writer.begin()
    far = Setup(b"").buffer + PAGE  # from the buffer to the doorbells behind it
    writer.add("VOP1", "v_mov_b32", vdst=6, src0=_LITERAL)
    writer.code += far.to_bytes(4, "little")
    if spread:
        writer.add("VOPC", "v_cmp_lt_u32", src0=_INLINE + spread, vsrc1=0)
        writer.add("VOP2", "v_cndmask_b32", vdst=6, src0=_INLINE, vsrc1=6)
    writer.add("VOP2", "v_add_u32", vdst=9, src0=_VGPR + 2, vsrc1=6)
    writer.add("VOP1", "v_mov_b32", vdst=10, src0=_VGPR + 3)
    writer.move("store_dword", addr=2, data=0)
    writer.move("store_dword", addr=9, data=1)
    writer.move("load_dword", addr=2, vdst=5)
    writer.finish()
    setup = Setup(writer.code, groups=2, items=100)
    seen = []
    for ahead in (False, True):
        memory = opened("GPU_VIPER", 2, 2, engine="native")
        rung: list[tuple[int, int, bytes]] = []

        def map_it(memory: CoherentMemory, rung: list[tuple[int, int, bytes]] = rung) -> None:
            if len(memory.space.allocations) < 3:
                memory.space.map_doorbells(
                    PAGE, lambda address, data: rung.append((memory.now, address, data))
                )

        outcome = run(replace(setup, meanwhile=map_it), memory, ahead)
        assert not outcome.faults and rung
        seen.append((outcome, rung))
    assert seen[0] == seen[1]


def test_dwords_beyond_the_end_of_a_buffer() -> None:
    """It ends after half of what lane 62 moves: requests of two sizes for one instruction."""
    writer = Writer(0)
    writer.begin()
    writer.add("SOP1", "s_mov_b64", sdst=4, ssrc0=0)
    writer.add("SOPK", "s_movk_i32", sdst=6, simm16=1000)
    writer.add("SOP1", "s_mov_b32", sdst=7, ssrc0=_INLINE)
    writer.add("VOP2", "v_lshlrev_b32", vdst=17, src0=_INLINE + 2, vsrc1=1)
    fields = {"vaddr": 17, "offen": 1, "srsrc": 1, "soffset": _INLINE}
    writer.add("MUBUF", "buffer_load_dwordx4", vdata=4, **fields)
    writer.add("SOPP", "s_waitcnt", simm16=0)
    writer.add("MUBUF", "buffer_store_dwordx3", vdata=8, **fields)
    writer.finish()
    setup = Setup(writer.code, groups=1, items=64)
    expected, found = both(setup, 0)
    assert found == expected and not found.faults
    before = np.arange(setup.buffer // 4, dtype=np.uint32) * np.uint32(2654435761)
    after = np.frombuffer(found.contents, np.uint32)
    inside = np.where(np.arange(256) < 250, before[:256], 0).reshape(64, 4)
    loaded = after[RESULTS // 4 :][: 4 * 64].reshape(4, 64)
    assert np.array_equal(loaded.T, inside)
    stored = before[:256].reshape(64, 4).copy()
    stored[:62, :3] = 8, 9, 10
    stored[62, :2] = 8, 9
    assert np.array_equal(after[:256].reshape(64, 4), stored)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("kind", ["arithmetic", "load", "base"])
def test_scalar_registers_that_a_wave_was_not_given(kind: str, place: int) -> None:
    """Whether or not what comes before is still in flight."""
    writer = Writer(0)
    writer.begin()
    if place:
        writer.move("load_dwordx2", addr=2, vdst=11)
    if place == 2:
        writer.add("VOP2", "v_xor_b32", vdst=12, src0=_VGPR + 11, vsrc1=5)
    writer.add("VOP1", "v_mov_b32", vdst=5, src0=_INLINE)
    if kind == "arithmetic":
        writer.add("VOP2", "v_xor_b32", vdst=6, src0=40, vsrc1=5)
    else:
        base, to = (20, 4) if kind == "base" else (0, 40)
        writer.add("SMEM", "s_load_dword", sbase=base, sdata=to, imm=1, offset=0)
    writer.finish()
    expected, found = both(Setup(writer.code, groups=2, items=100), 0)
    assert found == expected
    wanted = "no s41" if kind == "base" else "no s40"
    assert len(found.faults) == 2 and all(wanted in fault for fault in found.faults)


def test_a_return_without_a_trap_handler() -> None:
    """``s_nop``, then ``s_rfe_b64 s[0:1]``: units that run ahead have no handlers."""
    expected, found = both(Setup(bytes.fromhex("000080bf001f80be"), groups=1, items=64), 0)
    assert found.faults == expected.faults and len(found.faults) == 1
    assert "only a trap handler returns from an exception" in found.faults[0]


@pytest.mark.parametrize(
    ("limit", "words"), [(None, "every wave repeats"), (100, "100 wave instructions have run")]
)
def test_a_wave_that_branches_to_itself_is_found(limit: int | None, words: str) -> None:
    setup = Setup(code("goes_nowhere"), groups=1, items=64, patience=200, limit=limit)
    for outcome in both(setup, 0):
        assert len(outcome.faults) == 1 and words in outcome.faults[0]


@pytest.mark.slow
@pytest.mark.parametrize("mistakes", [0, 0.1])
@pytest.mark.parametrize("seed", range(SEEDS, MORE))
def test_many_more(seed: int, mistakes: float) -> None:
    expected, found = both(setup_of(seed, mistakes, tuple(Generation)[seed % 2]), seed)
    assert found == expected


TINY = Capacities(lines=32, messages=64, flights=16, line_requests=128, atomics=64, logs=64)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_system_that_is_too_small_grows_unseen(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs of the issue engine are replayed into an engine with larger pools."""
    setup = replace(setup_of(seed), groups=9, items=256)
    expected, _ = both(setup, seed)
    monkeypatch.setattr(native_backend, "first_capacities", lambda kernel: TINY)
    monkeypatch.setattr(
        issue_engine, "SLOTS", 1 + seed % 3
    )  # taken while requests wait to be given
    memory = opened("GPU_VIPER", 2, 2, ("nominal", "uniform")[seed % 2], seed, "native")
    assert run(setup, memory, True) == expected
    assert isinstance(memory.backend, NativeBackend)
    assert memory.backend._capacities.line_requests > TINY.line_requests


@pytest.mark.parametrize("seed", sampled(range(2), 2))
def test_memory_that_is_mapped_meanwhile(seed: int) -> None:
    """The new memory needs larger pools, so everything so far is replayed into another engine."""
    rooms = set()

    def more(memory: CoherentMemory) -> None:
        memory.space.allocate(1 << 20)
        assert isinstance(memory.backend, NativeBackend)
        rooms.add(memory.backend._capacities.lines)

    setup = replace(setup_of(seed), groups=3, stops=100, meanwhile=more)
    expected, found = both(setup, seed)
    assert found == expected
    assert len(rooms) > 1


def test_what_can_grow_no_more_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    library()
    monkeypatch.setattr(native_backend, "first_capacities", lambda kernel: TINY)
    monkeypatch.setattr(native_backend, "_MOST_KEPT", 10)
    with pytest.raises(OutOfRoom, match=r"the pool of \w+ is exhausted .* the Python engine needs"):
        run(replace(setup_of(3), groups=9, items=256), opened("GPU_VIPER", engine="native"), True)
