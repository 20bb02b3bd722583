"""What is generated: legal, reproducible, exactly as long as asked for, and concurrent."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.prng import Prng, initial_byte, initial_bytes
from tester.counter_rng import CounterRng
from tester.errors import ConfigError
from tester.generator.address_selection import STRIDES
from tester.generator.config import Abilities
from tester.generator.generator import Generator, GeneratorConfig, generate, generate_program
from tester.program.address_map import LAYOUTS, MapConfig, build_map
from tester.program.array_validation import shape_errors
from tester.program.expectations import ExpectationState, derive, final_memory
from tester.program.program import (
    BARE,
    DMA,
    FETCH,
    FLUSHES,
    GLC,
    INSTRUCTION,
    LOAD,
    PLAIN,
    QUIET,
    RACING_LOAD,
    SLC,
    STORE,
    AgentSpec,
    Program,
    concatenate,
)
from tester.program.verifier import verify
from tests.sampling import sampled
from tests.tester.programs import CONFIGS, Execution, cpu, gpu, interpret, small


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("seed", sampled([1, 2], 2))
def test_programs_are_race_free(name: str, seed: int) -> None:
    config = CONFIGS[name]
    program = generate_program(config, Prng(seed))
    assert verify(program) == []
    assert program.episodes == config.episodes
    assert program.active().any()


@settings(max_examples=40)
@given(
    agents=st.integers(1, 6),
    lanes=st.sampled_from((1, 2, 5, 16, 64)),
    episodes=st.integers(0, 25),
    groups=st.integers(1, 5),
    locations=st.one_of(st.none(), st.integers(1, 60)),
    lines=st.integers(1, 12),
    layout=st.sampled_from(LAYOUTS),
    cluster=st.sampled_from((1, 1, 32, 64)),
    fill=st.sampled_from((20, 100)),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    loads=st.sampled_from(((0, 0), (100, 100), (0, 100), (30, 60))),
    weights=st.sampled_from(((1, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1), (0, 0, 1, 0))),
    shares=st.lists(st.sampled_from((0, 30, 100)), min_size=6, max_size=6),
    slack=st.sampled_from((0, 60, 400)),
    seed=st.integers(0, 2**64 - 1),
)
def test_any_configuration_gives_a_legal_program_or_a_reason(
    agents: int,
    lanes: int,
    episodes: int,
    groups: int,
    locations: int | None,
    lines: int,
    layout: str,
    cluster: int,
    fill: int,
    lengths: list[int],
    loads: tuple[int, int],
    weights: tuple[int, int, int, int],
    shares: list[int],
    slack: int,
    seed: int,
) -> None:
    config = GeneratorConfig(
        gpu(agents, lanes) + cpu(1),
        episodes,
        MapConfig(groups, locations, None if locations else lines, fill, cluster, layout),
        lengths=tuple(lengths),
        load_percent=loads,
        size_weights=weights,
        lane_percent=shares[0],
        shared_group_percent=shares[1],
        pattern_percent=shares[2],
        repeat_percent=shares[3],
        hot_percent=shares[4],
        tight_percent=shares[5],
        slack_percent=slack,
    )
    try:
        program = generate_program(config, Prng(seed))
    except ConfigError as reason:
        assert "too few for" in str(reason) or "no room" in str(reason)
        return
    assert program.episodes == episodes
    assert verify(program) == []
    if loads == (0, 0):
        assert not (program.action_kind == LOAD).any()
    if loads == (100, 100):
        assert not (program.action_kind == STORE).any()


@pytest.mark.parametrize("name", CONFIGS)
def test_expectations_are_those_of_an_interpreter(name: str) -> None:
    program = generate_program(CONFIGS[name], Prng(3))
    loads, memory = interpret(program)
    expected = {
        (a, i): int(program.expected[a, i])
        for a, i in zip(*np.nonzero(program.active()))
        if program.action_kind[a] == LOAD
    }
    assert expected == loads
    addresses, contents = final_memory(program)
    assert np.all(np.diff(addresses) > 0)
    assert set(memory) <= set(addresses.tolist())
    for address, value in zip(addresses.tolist(), contents.tolist()):
        assert value == memory.get(address, initial_byte(program.run_key, address))


def test_numbers_by_counter_are_those_of_the_stream() -> None:
    prng = Prng(5).fork("x")
    words = CounterRng(prng).words(np.arange(1, 20)).tolist()
    assert words == [prng.bits64() for _ in range(19)]
    limits = np.arange(10)
    values = CounterRng(prng).below(np.arange(10), limits)
    assert values[0] == 0 and np.all(values[1:] < limits[1:])
    addresses = np.arange(1000, 1100)
    assert initial_bytes(9, addresses).tolist() == [initial_byte(9, a) for a in range(1000, 1100)]


def test_same_seed_same_program_in_a_fresh_process() -> None:
    script = (
        "from tests.tester.programs import CONFIGS\n"
        "from runtime.prng import Prng\n"
        "from tester.generator.generator import generate_program\n"
        "for name in ('mixed', 'patterns'):\n"
        "    print(generate_program(CONFIGS[name], Prng(11)).digest())\n"
    )
    here = [generate_program(CONFIGS[n], Prng(11)).digest() for n in ("mixed", "patterns")]
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(p for p in sys.path if p) or "."},
    )
    assert result.stdout.split() == here
    assert generate_program(CONFIGS["mixed"], Prng(12)).digest() != here[0]


def test_the_contents_are_pinned() -> None:
    # A change here changes what every seed means: replay files survive, seeds in reports do not.
    assert small(seed=1).digest() == "e549a74168919a74"


@pytest.mark.parametrize("episodes", [0, 1, 5, 1023, 1024, 1025, 2500])
def test_the_limit_is_exact_and_blocks_do_not_depend_on_it(episodes: int) -> None:
    config = replace(CONFIGS["processors"], episodes=episodes)
    chunks = list(generate(config, Prng(4)))
    assert sum(c.episodes for c in chunks) == episodes
    endless = generate(replace(config, episodes=None), Prng(4))
    for chunk, longer in zip(chunks[:-1], endless):
        assert chunk.equals(longer)


def test_agents_without_fetch_adds_take_part() -> None:
    helpers = (AgentSpec(DMA, 8, 1, "dma0"), AgentSpec(FETCH, 9, 1, "fetch0"))
    config = GeneratorConfig(
        gpu(3, 4) + helpers, 150, MapConfig(2, 40), atomic_scope_percent=30, quiet_percent=40
    )
    program = generate_program(config, Prng(3))
    assert verify(program) == []
    agent = program.episode_thread[program.action_episode()]
    for number, kinds in ((3, {LOAD, STORE}), (4, {LOAD})):
        assert set(program.action_kind[agent == number].tolist()) == kinds
    adding = program.episode_thread < 3
    assert program.adds().tolist() == adding.tolist()
    assert program.increments().sum() == 2 * np.count_nonzero(program.episode_group[adding] >= 0)
    scope = program.episode_scope
    assert 0.1 < np.mean(scope & (GLC | SLC) > 0) < 0.5 < np.mean(scope & QUIET == 0) < 0.8
    assert program.part(10, 30).episode_scope.tolist() == scope[10:30].tolist()
    half = np.arange(program.episodes) % 2 == 0
    assert program.keep_episodes(half).episode_scope.tolist() == scope[half].tolist()


def test_chasing_episodes_read_what_was_just_stored() -> None:
    def ages(rng: int) -> list[int]:
        """Episodes between a load and the store of another agent that it reads."""
        config = GeneratorConfig(gpu(8, 4), 200, MapConfig(2, 300), chase_percent=rng)
        program = generate_program(config, Prng(4))
        assert verify(program) == []
        stored: dict[int, int] = {}
        found = []
        for action, episode in enumerate(program.action_episode().tolist()):
            for address in program.lane_address[action].tolist():
                if address < 0:
                    continue
                if program.action_kind[action] == STORE:
                    stored[address] = episode
                elif stored.get(address, episode) != episode:
                    found.append(episode - stored[address])
        return found

    targeted, random = ages(60), ages(0)
    assert sum(age <= 8 for age in targeted) > 4 * sum(age <= 8 for age in random) > 0


def test_episodes_go_from_line_to_line_where_a_prefetcher_is() -> None:
    def steps(percent: int, agents: range) -> tuple[int, int]:
        """How often two accesses that follow each other are a stride apart; out of how many."""
        program = generate_program(replace(CONFIGS["streams"], stream_percent=percent), Prng(4))
        assert verify(program) == []
        line = program.lane_address[:, 0] // program.line_size
        same = np.diff(program.action_episode()) == 0
        same &= np.isin(program.episode_thread[program.action_episode()[1:]], agents)
        moved = np.diff(line)[same]
        return int(np.isin(moved, STRIDES).sum()), len(moved)

    def share(percent: int, agents: range) -> float:
        followed, all_ = steps(percent, agents)
        return followed / all_

    assert share(100, range(4)) > 0.5 > 3 * share(0, range(4))
    assert steps(100, range(4, 6))[0] < 2 * steps(0, range(4, 6))[0], "those have no prefetcher"


def test_bare_and_racing_episodes_are_marked() -> None:
    program = generate_program(
        GeneratorConfig(gpu(4, 4), 200, MapConfig(2, 60), bare_percent=50, peek_percent=30), Prng(4)
    )
    assert verify(program) == []
    bare = program.episode_scope & BARE > 0
    assert 0.3 < np.mean(bare) < 0.7 and not program.adds()[bare].any()
    assert 0.1 < np.mean(program.episode_scope & RACING_LOAD > 0) < 0.5
    assert program.increments().sum() == 2 * np.count_nonzero(program.episode_group[~bare] >= 0)


def test_only_who_can_makes_plain_episodes_and_instruction_fetches() -> None:
    agents = (AgentSpec("cpu", 0, 1, "a"), AgentSpec("cpu", 1, 1, "b"), AgentSpec(DMA, 2, 1, "c"))
    able = (Abilities(plain=True), Abilities(instructions=True, flush=True), Abilities())
    program = generate_program(
        GeneratorConfig(
            agents,
            300,
            MapConfig(2, 60),
            abilities=able,
            plain_percent=50,
            instruction_percent=40,
            flush_percent=30,
        ),
        Prng(4),
    )
    assert verify(program) == []
    agent = program.episode_thread
    of_action = agent[program.action_episode()]
    plain = program.episode_scope & PLAIN > 0
    fetched = program.action_scope & INSTRUCTION > 0
    assert set(agent[plain].tolist()) == {0} and 0.3 < np.mean(plain[agent == 0]) < 0.7
    assert not program.adds()[plain].any()
    assert set(of_action[fetched].tolist()) == {1} and (program.action_kind[fetched] == LOAD).all()
    assert 0.2 < np.mean(fetched[(of_action == 1) & (program.action_kind == LOAD)]) < 0.6
    assert set(agent[program.episode_scope & FLUSHES > 0].tolist()) == {1}


def test_wavefronts_beside_processors_add_in_system_scope() -> None:
    agents = (AgentSpec("gpu", 0, 4, "a"), AgentSpec("cpu", 1, 1, "b"), AgentSpec("gpu", 2, 4, "c"))
    config = GeneratorConfig(agents, 100, MapConfig(4, 60), isolation_groups=(0, 0, 1))
    program = generate_program(config, Prng(4))
    scope = program.episode_scope & (GLC | SLC)
    assert (scope[program.episode_thread == 0] == SLC).all()
    assert (scope[program.episode_thread == 2] == 0).all()


def test_a_plain_episode_makes_no_fetch_adds() -> None:
    program = generate_program(CONFIGS["default"], Prng(1))
    marked = replace(program, episode_scope=program.episode_scope | PLAIN)
    assert any("plain" in error for error in shape_errors(marked))


def test_chunks_derived_one_by_one_equal_the_whole() -> None:
    for config in (CONFIGS["default"], replace(CONFIGS["processors"], episodes=2100)):
        program = generate_program(config, Prng(6))
        assert derive(replace(program, derived=False)).equals(program)
        for size in (1, 17, 1024):
            if size == 1 and program.episodes > 200:
                continue
            expectations = ExpectationState.of(program)
            bare = replace(program, derived=False)
            again = concatenate([expectations.advance(part) for part in bare.parts(size)])
            assert again.equals(program)
            addresses, contents = expectations.final_memory()
            assert np.array_equal(addresses, final_memory(program)[0])
            assert np.array_equal(contents, final_memory(program)[1])


def test_chunks_in_the_wrong_place_are_refused() -> None:
    first, second = replace(small(), derived=False).parts(20)
    with pytest.raises(ValueError, match="needs the state"):
        derive(second)
    expectations = ExpectationState.of(small())
    with pytest.raises(ValueError, match="does not continue"):
        expectations.advance(second)
    assert expectations.advance(first).derived


@pytest.mark.slow
def test_waits_reach_into_earlier_chunks() -> None:
    config = replace(CONFIGS["processors"], episodes=None)
    chunks = list(itertools.islice(generate(config, Prng(8)), 3))
    last = chunks[2]
    far = [w for e in range(20) for w in last.waits_of(e) if w[1] <= last.thread_base[w[0]]]
    assert far
    assert verify(concatenate(chunks)) == []


def test_an_endless_run_keeps_its_memory() -> None:
    config = replace(CONFIGS["default"], episodes=None)
    generator = Generator(config, Prng(2))
    sizes = []
    for _ in range(8):
        assert generator.next_chunk() is not None
        sizes.append(len(generator.expectations._loaded))
    assert max(sizes[4:]) < 2 * max(sizes[:4])


def test_no_wait_is_implied_by_others() -> None:
    """Removing any single wait leaves a race, so waits are as few as they can be."""
    program = small(episodes=20)
    assert program.waits > 10
    for wait in range(program.waits):
        keep = np.arange(program.waits) != wait
        first = program.wait_first - np.searchsorted(np.flatnonzero(~keep), program.wait_first)
        fewer = replace(
            program,
            wait_first=first,
            wait_thread=program.wait_thread[keep],
            wait_count=program.wait_count[keep],
            wait_kind=program.wait_kind[keep],
        )
        assert any("races with" in error for error in verify(fewer))


@pytest.mark.parametrize("name", CONFIGS)
def test_stored_bytes_differ_from_recent_versions(name: str) -> None:
    program = generate_program(CONFIGS[name], Prng(5))
    versions: dict[int, list[int]] = {}
    changes = 0
    for action in np.flatnonzero(program.action_kind == STORE).tolist():
        for lane, address in enumerate(program.lane_address[action].tolist()):
            for i in range(int(program.action_size[action]) if address >= 0 else 0):
                byte = address + i
                value = int(program.store_value[action, lane]) >> 8 * i & 0xFF
                past = versions.setdefault(byte, [initial_byte(program.run_key, byte)])
                assert value not in past[-8:]
                past.append(value)
                changes += 1
    assert changes > 100
    used = np.concatenate([np.array(v[1:], np.uint8) for v in versions.values()])
    assert len(np.unique(used)) > 200  # all bits move, in every byte


def _live_share(program: Program, seed: int) -> float:
    return Execution(program, seed).live / program.agent_count


@pytest.mark.parametrize(
    "config",
    [
        GeneratorConfig(gpu(16, 16), 320, MapConfig(4, 512)),
        GeneratorConfig(gpu(16, 4), 600, MapConfig(4, 128)),
        GeneratorConfig(gpu(8, 4), 400),
        GeneratorConfig(cpu(8), 800, MapConfig(4, 64)),
    ],
    ids=["16x16", "16x4", "default", "processors"],
)
def test_agents_run_side_by_side(config: GeneratorConfig) -> None:
    program = generate_program(config, Prng(1))
    for seed in (1, 2):
        execution = Execution(program, seed)
        assert execution.live >= 0.6 * program.agent_count
        # Some hand-overs are tight, most have slack.
        assert 0.05 * program.episodes < execution.held < 0.75 * program.episodes


def test_reservation_is_what_keeps_agents_alive() -> None:
    """The same accesses in an order that ignores who is alive run nearly one by one."""
    program = generate_program(GeneratorConfig(gpu(16, 4), 600, MapConfig(4, 128)), Prng(1))
    shuffled = program.episode_thread[np.argsort(CounterRng(Prng(3)).words(np.arange(600)))]
    other = derive(replace(program, episode_thread=shuffled, derived=False))
    assert _live_share(other, 1) < 0.75 * _live_share(program, 1)


@pytest.mark.parametrize(
    ("config", "most"),
    [
        (GeneratorConfig(gpu(16, 16), 400, MapConfig(10, 1000)), 500e-6),
        (GeneratorConfig(cpu(8), 4000, MapConfig(4, 64)), 40e-6),
    ],
    ids=["160 accesses", "10 accesses"],
)
def test_generation_is_cheap(config: GeneratorConfig, most: float) -> None:
    # Eight times the budget: a busy machine passes, something quadratic does not.
    generate_program(replace(config, episodes=50), Prng(1))
    start = time.process_time()
    program = generate_program(config, Prng(1))
    assert time.process_time() - start < 8 * most * program.episodes


def test_most_lanes_find_a_location() -> None:
    for name, least in (("default", 0.75), ("wide", 0.5), ("duel", 0.25), ("processors", 0.7)):
        program = generate_program(replace(CONFIGS[name], lengths=(10,)), Prng(2))
        slots = 10 * np.count_nonzero(program.episode_group >= 0)
        assert program.active().sum() > least * slots, name


def test_false_sharing_is_universal() -> None:
    layout = build_map(MapConfig(4, 128), Prng(1))
    group = np.repeat(np.arange(4), np.diff(layout.group_first))
    owners = []
    for line in layout.lines.tolist():
        inside = (layout.location_address >= line) & (layout.location_address < line + 64)
        owners.append(len(set(group[inside].tolist())))
    assert min(owners) >= 2 and np.mean(owners) > 3
    assert {int(word) & -64 for word in layout.group_word} <= set(layout.lines.tolist())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_put_lines_where_they_say(layout: str) -> None:
    config = MapConfig(2, None, lines=24, layout=layout, stride_lines=8, sets=2)
    places = [build_map(config, Prng(seed)) for seed in range(6)]
    assert len({tuple(p.lines.tolist()) for p in places}) > 1  # the seed decides
    for layout_map in places:
        numbers = layout_map.lines // 64
        assert len(set(numbers.tolist())) == 24
        sets = np.bincount(numbers % 8, minlength=8)
        if layout == "dense":
            assert np.all(np.diff(numbers) == 1)
        elif layout == "set-conflict":
            assert sorted(sets.tolist(), reverse=True)[:2] == [12, 12]
        elif layout == "bank-skew":
            assert sets.max() >= 14
        else:
            assert set(np.diff(numbers).tolist()) in ({1}, {8})


def test_locations_and_words_do_not_overlap() -> None:
    layout = build_map(MapConfig(5, 90), Prng(3))
    used = [
        byte
        for start, size in zip(layout.location_address.tolist(), layout.location_size.tolist())
        for byte in range(start, start + size)
    ]
    used += [byte for word in layout.group_word.tolist() for byte in range(word, word + 4)]
    assert len(used) == len(set(used))
    assert len(layout.location_size) == 450
    assert np.all(layout.location_address % layout.location_size == 0)
    assert set(np.diff(layout.group_first).tolist()) == {90}
    assert np.all(layout.group_word % 4 == 0)


def test_lanes_meet_in_lines_and_words() -> None:
    config = CONFIGS["patterns"]
    program = generate_program(replace(config, scope_percent=0), Prng(1))
    active = program.active()
    lines = [
        len(set((program.lane_address[a][active[a]] // 64).tolist()))
        for a in range(program.actions)
    ]
    assert np.mean(lines) < 0.7 * active.sum(axis=1).mean()  # several lanes per line
    many = active.sum(axis=1)
    assert max(n / k for n, k in zip(many, lines) if n >= 8) >= 4
    shared = [len({g for _, g in program.groups_of(e)}) == 1 for e in range(program.episodes)]
    assert np.mean(shared) > 0.7  # lanes add to one word
    same = [
        len(set(program.lane_address[a][active[a]].tolist())) < active[a].sum()
        for a in np.flatnonzero(program.action_kind == LOAD)
    ]
    assert np.mean(same) > 0.1  # lanes load one location
    assert not program.action_scope.any()
    scoped = generate_program(config, Prng(1)).action_scope
    assert {1, 2, 3} <= set(scoped.tolist()) and (scoped == 0).mean() > 0.5


def test_isolation_groups_exchange_no_bytes() -> None:
    program = generate_program(CONFIGS["mixed"], Prng(9))
    isolation = np.array(CONFIGS["mixed"].isolation_groups)[program.episode_thread]
    groups = [set(program.episode_group[isolation == c].ravel().tolist()) - {-1} for c in (0, 1)]
    assert groups[0] and groups[1] and not groups[0] & groups[1]
    lines = [
        set((program.lane_address[isolation[program.action_episode()] == c] // 64).ravel().tolist())
        for c in (0, 1)
    ]
    assert len(lines[0] & lines[1]) > 2  # isolation groups share lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agents": ()}, "at least one agent"),
        ({"agents": gpu(1, 65)}, "65 lanes"),
        ({"episodes": -1}, "episodes"),
        ({"lengths": ()}, "lengths"),
        ({"lengths": (0,)}, "1 to 4096 actions"),
        ({"load_percent": (50, 120)}, "load_percent"),
        ({"size_weights": (0, 0, 0, 0)}, "size_weights"),
        ({"repeat_percent": 101}, "repeat_percent is 101"),
        ({"slack_percent": -1}, "slack_percent"),
        ({"hot_cells": 0}, "hot_cells"),
        ({"isolation_groups": (0,)}, "one number per agent"),
        ({"isolation_groups": (0, 1, 2, 9)}, "10 isolation groups need as many groups"),
    ],
)
def test_impossible_configurations_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(GeneratorConfig(gpu(4, 4), 10), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": 0}, "groups is 0"),
        ({"locations": 0}, "locations"),
        ({"locations": None}, "number of lines"),
        ({"lines": 0}, "lines"),
        ({"fill_percent": 0}, "fill_percent"),
        ({"layout": "round"}, "no layout 'round'"),
        ({"line_size": 100}, "line size 100"),
        ({"groups": 65536, "locations": 1000}, "too large"),
        ({"stride_lines": 0}, "stride_lines"),
        ({"cluster_bytes": 12}, "cluster_bytes"),
    ],
)
def test_impossible_maps_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(MapConfig(), **change)  # type: ignore[arg-type]


def test_maps_that_do_not_fit_say_so() -> None:
    with pytest.raises(ConfigError, match="no room for the atomic words of 9 groups"):
        build_map(MapConfig(9, None, lines=1), Prng(1))
    with pytest.raises(ConfigError, match="too few for 8 groups"):
        build_map(MapConfig(8, None, lines=1, smallest=8), Prng(1))
    with pytest.raises(ConfigError, match="clusters of 64 bytes are too few for 3 groups"):
        build_map(MapConfig(3, None, lines=2, cluster_bytes=64), Prng(1))
    with pytest.raises(ConfigError, match="do not fit into 4096 bytes"):
        build_map(MapConfig(4, 1000, memory_bytes=4096), Prng(1))
    with pytest.raises(ConfigError, match="endless"):
        generate_program(GeneratorConfig(gpu(1, 1), None), Prng(1))
