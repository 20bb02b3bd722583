"""Atomic actions: what they return and leave, in programs, on both ways to derive, and in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.native.toolchain.object_cache import user_cache
from runtime.prng import Prng, initial_byte
from runtime.types.atomic_op import AtomicKind, AtomicOp
from tester.diagnosis.value_attribution import byte_versions
from tester.execution.events import Verdict
from tester.execution.leg import LegRun
from tester.generator.generator import GeneratorConfig, generate_program
from tester.generator.native_loops import CompiledLoops, load_loops, loops_recipe
from tester.program.address_map import MapConfig
from tester.program.array_validation import shape_errors
from tester.program.atomics import comparands, new_values, written
from tester.program.expectations import derive, final_memory
from tester.program.final_memory import final_contents
from tester.program.program import ATOMIC, DMA, FAILS, OPERATIONS, QUIET, STORE, AgentSpec, Program
from tester.program.verifier import verify
from tests.compiling import compiler
from tests.tester.execution.fake_system import FakeSystem

AGENTS = (*(AgentSpec("gpu", t, 4, f"wave{t}") for t in range(3)), AgentSpec(DMA, 3, 4, "dma"))
CONFIG = GeneratorConfig(
    AGENTS,
    150,
    MapConfig(3, 40),
    size_weights=(1, 1, 3, 3),
    atomic_percent=60,
    quiet_percent=30,
    repeat_percent=40,
)


def drawn(seed: int = 1, **changes: object) -> Program:
    return generate_program(replace(CONFIG, **changes), Prng(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_programs_with_atomic_actions_are_race_free(seed: int) -> None:
    program = drawn(seed)
    assert verify(program) == []
    atomic = program.action_kind == ATOMIC
    agent = program.episode_thread[program.action_episode()]
    assert set(program.action_op[atomic].tolist()) == set(OPERATIONS)
    assert 0.15 < np.mean(program.action_scope[atomic] & QUIET > 0) < 0.5
    assert 3 not in agent[atomic]
    narrow = program.action_size < 4
    assert (program.action_kind[~narrow & (agent != 3)] == STORE).any()
    assert not atomic[narrow].any()


@given(
    st.sampled_from(OPERATIONS),
    st.sampled_from((4, 8)),
    st.lists(st.integers(0, (1 << 64) - 1), min_size=2, max_size=2),
)
def test_arrays_compute_what_the_memory_system_does(op: int, size: int, words: list[int]) -> None:
    ones = (1 << 8 * size) - 1
    old, operand = (word & ones for word in words)
    (compare,) = comparands(op, size, [old])
    right = AtomicOp(op & ~FAILS, operand, size, compare).apply(old)
    array = np.array([[old]], np.uint64), np.array([[operand]], np.uint64)
    got = new_values(np.array([op], np.uint8), np.array([size], np.uint8), *array)
    assert got.tolist() == [[right]]
    if op == AtomicKind.CAS | FAILS:
        assert right == old


def test_native_loops_derive_the_same() -> None:
    loops: CompiledLoops = load_loops(loops_recipe(compiler()).make(user_cache()))
    for seed in range(3):
        program = generate_program(CONFIG, Prng(seed), loops)
        assert program.equals(drawn(seed))
    long = replace(CONFIG, episodes=2500)
    assert generate_program(long, Prng(9), loops).equals(generate_program(long, Prng(9)))


def test_what_is_left_is_what_later_loads_see() -> None:
    program = drawn(2)
    contents = final_contents(program)
    addresses, bytes_ = final_memory(program)
    assert contents.addresses.tolist() == addresses.tolist()
    assert contents.contents.tolist() == bytes_.tolist()
    action, lane = np.argwhere((program.action_kind == ATOMIC)[:, None] & program.active())[-1]
    address = int(program.lane_address[action, lane])
    version = next(v for v in byte_versions(program, address) if v.row == action)
    assert version.value == int(written(program)[action, lane]) & 0xFF


def test_deleting_changes_what_operations_find() -> None:
    program = drawn(3)
    half = derive(program.keep_episodes(np.arange(program.episodes) % 2 == 0))
    assert verify(half) == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"action_op": 14}, "no operation"),
        ({"action_size": 2}, "other than 4 or 8"),
        ({"action_kind": STORE}, "of a load or store"),
    ],
)
def test_malformed_operations_are_refused(change: dict[str, int], word: str) -> None:
    program = drawn(1)
    ((name, value),) = change.items()
    array = getattr(program, name).copy()
    array[np.flatnonzero(program.action_op == AtomicKind.XOR)] = value
    errors = shape_errors(replace(program, **{name: array}, derived=False))
    assert any(word in error for error in errors)


@pytest.mark.parametrize("name", ["expected", "store_value"])
def test_a_forged_operation_is_found(name: str) -> None:
    program = drawn(1)
    rows = np.flatnonzero(program.action_op == AtomicKind.XOR)
    row = next(r for r in rows if program.lane_address[r, 0] >= 0)
    array = getattr(program, name).copy()
    array[row, 0] ^= np.uint64(1)
    forged = replace(program, **{name: array})
    wrong = verify(forged)
    seen = name == "expected" or derive(replace(forged, derived=False)).expected.tolist() != (
        program.expected.tolist()
    )
    assert bool(wrong) == seen


def test_the_engine_performs_them_and_a_wrong_old_value_is_found() -> None:
    program = drawn(4)

    def memory() -> FakeSystem:
        return FakeSystem(
            lambda address: initial_byte(program.run_key, address), lanes=4, requesters=4
        )

    run = LegRun(program, memory(), 20_000)
    assert run.run().finding is None
    row = np.flatnonzero((program.action_kind == ATOMIC) & (program.action_scope & QUIET == 0))[5]
    lane = int(np.flatnonzero(program.lane_address[row] >= 0)[0])
    expected = program.expected.copy()
    expected[row, lane] ^= np.uint64(1 << 20)
    finding = LegRun(replace(program, expected=expected), memory(), 20_000).run().finding
    assert finding is not None and finding.verdict is Verdict.WRONG_VALUE
    assert finding.request is not None and finding.request.row == row
    assert finding.headline.startswith("atomic ")


def test_a_file_without_operations_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they were written before there were any."""
    from tester.program import replay_file
    from tests.tester.program.test_replay_file import leg

    plain = leg()
    older = {name: kind for name, kind in replay_file._ARRAYS.items() if name != "action_op"}
    with monkeypatch.context() as patched:
        patched.setattr(replay_file, "_ARRAYS", older)
        replay_file.save_leg(plain, tmp_path / "old.leg")
    old = replay_file.load_leg(tmp_path / "old.leg")
    assert old.program.equals(plain.program)
