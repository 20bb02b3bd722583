"""With native loops or without, a program is the same byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.native.toolchain.object_cache import user_cache
from runtime.prng import Prng
from tester.errors import ConfigError
from tester.generator.config import BYTES, CHECKS, GeneratorConfig
from tester.generator.generator import generate, generate_program
from tester.generator.native_loops import CompiledLoops, load_loops, loops_recipe
from tester.profiles import profiles
from tester.program.address_map import LAYOUTS, MapConfig
from tester.program.program import CONTINUES
from tests.compiling import ROOT, STRICT, WARNINGS, compile_unit, compiler
from tests.sampling import sampled
from tests.tester.generator.test_unaligned import WHOLE_LINES, WITHOUT_LOADS
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


@pytest.mark.parametrize(
    "config", [CONFIGS["unaligned"], CONFIGS["streams"], WHOLE_LINES, WITHOUT_LOADS]
)
def test_accesses_of_any_size_are_the_same(config: GeneratorConfig, loops: CompiledLoops) -> None:
    config = replace(config, episodes=2600)
    with_arrays = list(generate(config, Prng(6)))
    with_loops = list(generate(config, Prng(6), loops))
    assert len(with_arrays) > 2
    assert all((chunk.action_scope & CONTINUES).any() for chunk in with_arrays)
    assert all(one.equals(two) for one, two in zip(with_arrays, with_loops, strict=True))


@pytest.mark.parametrize("pattern", [CHECKS, BYTES])
def test_other_patterns_are_the_same(loops: CompiledLoops, pattern: str) -> None:
    config = replace(CONFIGS["processors"], pattern=pattern, episodes=9000)
    with_arrays = list(generate(config, Prng(7)))
    with_loops = list(generate(config, Prng(7), loops))
    assert len(with_arrays) > 1
    assert all(one.equals(two) for one, two in zip(with_arrays, with_loops, strict=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cluster_bytes", [1, 16, 64])
def test_maps_are_the_same(loops: CompiledLoops, layout: str, cluster_bytes: int) -> None:
    places = MapConfig(
        groups=3,
        locations=None,
        lines=24,
        fill_percent=70,
        cluster_bytes=cluster_bytes,
        layout=layout,
        stride_lines=5,
        sets=3,
    )
    for weights in ((1, 1, 4, 1), (0, 1, 1, 0), (0, 0, 0, 1)):
        for size in (places, replace(places, locations=20, lines=None)):
            config = replace(
                CONFIGS["default"], map=size, size_weights=weights, episodes=200, pattern_percent=60
            )
            program = generate_program(config, Prng(8))
            assert program.equals(generate_program(config, Prng(8), loops))


def test_a_map_that_cannot_be_is_refused_alike(loops: CompiledLoops) -> None:
    crowded = replace(CONFIGS["default"], map=MapConfig(groups=20, locations=None, lines=1))
    far = MapConfig(groups=1, locations=None, lines=8, layout="line-duel", memory_bytes=512)
    for config in (crowded, replace(CONFIGS["default"], map=far)):
        with pytest.raises(ConfigError) as plain:
            generate_program(replace(config, episodes=1), Prng(1))
        with pytest.raises(ConfigError) as compiled:
            generate_program(replace(config, episodes=1), Prng(1), loops)
        assert str(plain.value) == str(compiled.value)


def test_bytes_that_are_drawn_again_and_again_are_the_same(loops: CompiledLoops) -> None:
    # So many stores to a few bytes that some take the most attempts.
    scenario = profiles.draw("line-duel", Prng(7), {"lines": 2, "size_weights": (1, 0, 0, 0)})
    config = replace(scenario.program, episodes=2000, load_percent=(0, 0))
    assert generate_program(config, Prng(7)).equals(generate_program(config, Prng(7), loops))


def test_a_room_that_is_too_small_is_replaced(loops: CompiledLoops) -> None:
    scenario = profiles.draw("hot-ping-pong", Prng(5))
    config = replace(scenario.program, episodes=2600)
    tight = CompiledLoops(loops.library)
    tight.vacate(np.empty(1 << 10, np.uint8))
    with_little = list(generate(config, Prng(5), tight))
    with_enough = list(generate(config, Prng(5), loops))
    assert all(one.equals(two) for one, two in zip(with_enough, with_little, strict=True))
