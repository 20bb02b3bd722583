"""With native loops or without, a program is the same byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.native.toolchain.object_cache import user_cache
from runtime.prng import Prng
from tester.generator.generator import generate, generate_program
from tester.generator.native_loops import ATTEMPTS, CompiledLoops, load_loops, loops_recipe
from tester.program.expectations import ExpectationState, explode, final_memory, touched_lines
from tester.program.program import CONTINUES, concatenate
from tester.scenario import profiles
from tests.compiling import ROOT, STRICT, WARNINGS, compile_unit, compiler
from tests.sampling import sampled
from tests.tester.programs import CONFIGS


@pytest.fixture(scope="module")
def loops() -> CompiledLoops:
    return load_loops(loops_recipe(compiler()).make(user_cache()))


def test_compilers_have_nothing_to_complain_of(tmp_path: Path) -> None:
    source = ROOT / "tester" / "native" / "cpp" / "generator" / "native_loops.cpp"
    compile_unit(source, flags=(*WARNINGS, *STRICT), output=tmp_path / "generator.so")


@pytest.mark.parametrize("profile", profiles.PROFILES)
@pytest.mark.parametrize("seed", sampled([1, 2, 3], 3))
def test_a_program_is_the_same(loops: CompiledLoops, profile: str, seed: int) -> None:
    scenario = profiles.draw(profile, Prng(seed).fork(profile))
    config = replace(scenario.program, episodes=100 * seed)
    assert generate_program(config, Prng(seed)).equals(generate_program(config, Prng(seed), loops))


def test_several_blocks_are_the_same(loops: CompiledLoops) -> None:
    # Reservations, waits for loads and versions reach over the limits of blocks.
    scenario = profiles.draw("hot-ping-pong", Prng(5))
    config = replace(scenario.program, episodes=2600, chase_percent=30, hot_percent=20)
    with_arrays = list(generate(config, Prng(5)))
    with_loops = list(generate(config, Prng(5), loops))
    assert len(with_arrays) > 2
    assert all(one.equals(two) for one, two in zip(with_arrays, with_loops, strict=True))


def test_accesses_of_any_size_are_the_same(loops: CompiledLoops) -> None:
    config = replace(CONFIGS["unaligned"], episodes=2600)
    with_arrays = list(generate(config, Prng(6)))
    with_loops = list(generate(config, Prng(6), loops))
    assert len(with_arrays) > 2
    assert all((chunk.action_scope & CONTINUES).any() for chunk in with_arrays)
    assert all(one.equals(two) for one, two in zip(with_arrays, with_loops, strict=True))


def test_a_block_may_follow_one_that_was_made_without(loops: CompiledLoops) -> None:
    program = generate_program(
        replace(profiles.draw("coherence", Prng(6)).program, episodes=1300), Prng(6)
    )
    pieces = list(program.parts(500))
    expectations = ExpectationState.of(program, loops)
    derived = [expectations.advance(replace(piece, derived=False)) for piece in pieces]
    assert concatenate(derived).equals(program)
    assert (expectations.final_memory()[1] == final_memory(program)[1]).all()


def test_bytes_that_are_drawn_again_and_again_are_left_to_the_arrays(loops: CompiledLoops) -> None:
    # All attempts draw from one stream, so what repeats a version once repeats it for ever.
    scenario = profiles.draw("line-duel", Prng(7), {"lines": 2, "size_weights": (1, 0, 0, 0)})
    program = generate_program(replace(scenario.program, episodes=50), Prng(7))
    lines = touched_lines(program)
    events = explode(program, lines, loops)
    history = np.zeros((len(lines) * program.line_size, 8), np.uint8)
    identity = np.zeros(program.lane_address.shape, np.int64)
    values = np.zeros(program.lane_address.shape, np.uint64)
    assert loops.assign_versions(events, values, identity, history, [1] * ATTEMPTS) is None
