"""Configurations, a brute-force interpreter and a model executor for tests of programs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from runtime.prng import Prng, initial_byte
from tester.generator.config import Abilities
from tester.generator.generator import GeneratorConfig, generate_program
from tester.program.address_map import BANK_SKEW, LINE_DUEL, SET_CONFLICT, MapConfig
from tester.program.program import STORE, AgentSpec, Program


def gpu(agents: int, lanes: int) -> tuple[AgentSpec, ...]:
    return tuple(AgentSpec("gpu", i, lanes, f"wave{i}") for i in range(agents))


def cpu(agents: int) -> tuple[AgentSpec, ...]:
    return tuple(AgentSpec("cpu", i, 1, f"cpu{i}") for i in range(agents))


def engines(agents: int) -> tuple[AgentSpec, ...]:
    return tuple(AgentSpec("dma", i, 1, f"dma{i}") for i in range(agents))


CONFIGS: dict[str, GeneratorConfig] = {
    "default": GeneratorConfig(gpu(8, 4), 120),
    "wide": GeneratorConfig(gpu(4, 16), 40, MapConfig(4, 128)),
    "processors": GeneratorConfig(cpu(6), 300, MapConfig(3, 24)),
    "mixed": GeneratorConfig(
        gpu(3, 8) + cpu(3),
        120,
        MapConfig(4, 60),
        isolation_groups=(0, 0, 0, 1, 1, 1),
        lane_percent=60,
    ),
    "duel": GeneratorConfig(
        gpu(8, 2), 200, MapConfig(2, None, lines=3, layout=LINE_DUEL), lengths=(2, 4)
    ),
    "bytes": GeneratorConfig(
        gpu(4, 4), 100, MapConfig(2, 40, layout=SET_CONFLICT), size_weights=(1, 0, 0, 0)
    ),
    "lengths": GeneratorConfig(
        gpu(4, 4), 60, MapConfig(4, 64, layout=BANK_SKEW, stride_lines=4), lengths=(1, 10, 60)
    ),
    "unaligned": GeneratorConfig(
        cpu(3) + engines(2) + gpu(2, 4),
        150,
        MapConfig(3, 60),
        isolation_groups=(0, 0, 0, 0, 0, 1, 1),
        plain_percent=50,
        bare_percent=30,
        unaligned_percent=70,
        chase_percent=20,
    ),
    "streams": GeneratorConfig(
        cpu(4) + gpu(2, 4),
        150,
        MapConfig(2, None, lines=24),
        abilities=(replace(Abilities.of_kind("cpu"), streams=True),) * 4
        + (Abilities.of_kind("gpu"),) * 2,
        plain_percent=50,
        unaligned_percent=30,
        chase_percent=20,
        stream_percent=60,
    ),
    "patterns": GeneratorConfig(
        gpu(4, 16),
        60,
        MapConfig(2, 400, fill_percent=75, cluster_bytes=32),
        pattern_percent=90,
        shared_group_percent=90,
        scope_percent=30,
        hot_percent=10,
    ),
}


@cache
def small(seed: int = 1, **changes: object) -> Program:
    """A short program of four 4-lane agents with plenty of conflicts."""
    config = GeneratorConfig(gpu(4, 4), 40, MapConfig(2, 32))
    return generate_program(replace(config, **changes), Prng(seed))  # type: ignore[arg-type]


def interpret(program: Program) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """Loads by (action, lane), and memory afterwards, of episodes run one after the other."""
    memory: dict[int, int] = {}
    loads: dict[tuple[int, int], int] = {}

    def byte(address: int) -> int:
        return memory.get(address, initial_byte(program.run_key, address))

    adds = program.adds()
    for episode in range(program.episodes):
        for action in program.actions_of(episode):
            size = int(program.action_size[action])
            for lane, address in enumerate(program.lane_address[action].tolist()):
                if address < 0:
                    continue
                if program.action_kind[action] == STORE:
                    value = int(program.store_value[action, lane])
                    for i in range(size):
                        memory[address + i] = value >> 8 * i & 0xFF
                else:
                    loads[action, lane] = sum(byte(address + i) << 8 * i for i in range(size))
        for _, group in program.groups_of(episode) if adds[episode] else ():
            word = int(program.group_word[group])
            value = sum(byte(word + i) << 8 * i for i in range(4)) + 2
            for i in range(4):
                memory[word + i] = value >> 8 * i & 0xFF
    return loads, memory


class Execution:
    """A run on a machine where only durations are random: uniform, give or take `spread` %."""

    def __init__(self, program: Program, seed: int, spread: int = 50) -> None:
        prng = Prng(seed)
        done: list[list[int]] = [[0] for _ in program.agents]
        self.start: list[int] = []
        self.end: list[int] = []
        self.held = 0
        """Episodes that a wait kept from starting."""
        busy = 0
        for episode, agent in enumerate(program.episode_thread.tolist()):
            free = done[agent][-1]
            start = max([free, *(done[t][n] for t, n in program.waits_of(episode))])
            work = 600 + 120 * len(program.actions_of(episode))
            duration = work * (100 - spread + prng.below(2 * spread + 1)) // 100
            done[agent].append(start + duration)
            self.start.append(start)
            self.end.append(start + duration)
            self.held += start > free
            busy += duration
        self.live = busy / max(times[-1] for times in done)
        """Mean number of live episodes."""
