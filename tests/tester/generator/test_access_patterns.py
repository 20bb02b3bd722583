"""Programs like those of other testers: who does what, and that they are fair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from runtime.prng import Prng
from tester.errors import ConfigError
from tester.generator.config import BYTES, CHECKS, Abilities
from tester.generator.generator import GeneratorConfig, generate, generate_program
from tester.program.address_map import MapConfig
from tester.program.expectations import derive
from tester.program.program import BARE, DMA, INSTRUCTION, LOAD, PLAIN, STORE, AgentSpec, Program
from tester.program.verifier import verify

AGENTS = tuple(AgentSpec("cpu", t, 1, f"cpu{t}") for t in range(4))


def drawn(pattern: str, episodes: int = 3000, **changes: object) -> Program:
    able = (Abilities(plain=True, instructions=True),) * 4
    config = GeneratorConfig(
        AGENTS, episodes, abilities=able, pattern=pattern, instruction_percent=50, lengths=(6,)
    )
    return generate_program(replace(config, **changes), Prng(7))  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [CHECKS, BYTES])
def test_patterns_are_race_free_and_plain(pattern: str) -> None:
    program = drawn(pattern, 600)
    assert verify(program) == []
    assert (program.episode_scope == PLAIN | BARE).all()
    assert derive(replace(program, derived=False)).equals(program)


@pytest.mark.parametrize("pattern", [CHECKS, BYTES])
def test_an_endless_pattern_begins_like_a_short_one(pattern: str) -> None:
    short = drawn(pattern, 4500)
    able = (Abilities(plain=True, instructions=True),) * 4
    config = GeneratorConfig(
        AGENTS, None, abilities=able, pattern=pattern, instruction_percent=50, lengths=(6,)
    )
    chunks = generate(config, Prng(7))
    first, second = next(chunks), next(chunks)
    assert first.equals(short.part(0, first.episodes))
    rest = short.part(first.episodes, 4500)
    assert second.part(0, rest.episodes).equals(rest)


def test_a_checked_word_is_stored_byte_by_byte_and_then_loaded() -> None:
    program = drawn(CHECKS)
    words: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for action in range(program.actions):
        address = int(program.lane_address[action, 0])
        words[address & -4].append(
            (int(program.action_kind[action]), int(program.action_size[action]), address & 3)
        )
    assert len(words) == 230
    round_trip = [(STORE, 1, 0), (STORE, 1, 1), (STORE, 1, 2), (STORE, 1, 3), (LOAD, 4, 0)]
    for history in words.values():
        assert history == (round_trip * len(history))[: len(history)]
    assert len({word // 64 for word in words}) == 102
    loads = program.action_kind == LOAD
    assert 0.4 < np.mean(program.action_scope[loads] & INSTRUCTION > 0) < 0.6
    assert len(set(program.episode_thread.tolist())) == 4


def test_own_bytes_share_lines_and_nothing_else() -> None:
    program = drawn(BYTES, 400, map=MapConfig(lines=5), load_percent=(65, 65))
    assert program.waits == 0
    agent = program.episode_thread[program.action_episode()]
    assert (program.lane_address[:, 0] % 64 == agent).all()
    assert len(set((program.lane_address[:, 0] // 64).tolist())) == 5
    assert 0.55 < np.mean(program.action_kind == LOAD) < 0.75


def test_patterns_need_a_processor() -> None:
    with pytest.raises(ConfigError, match="pattern checks needs processors"):
        generate_program(
            GeneratorConfig((AgentSpec(DMA, 0, 1, "dma"),), 5, pattern=CHECKS), Prng(1)
        )
    with pytest.raises(ConfigError, match="no pattern 'check'"):
        GeneratorConfig(AGENTS, 5, pattern="check")
