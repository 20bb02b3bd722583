"""Accesses of several rows: how they are drawn, cut, joined, checked, deleted and stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import protocols
from protocols.loader import load_protocol
from runtime.prng import Prng
from runtime.requesters.port import AccessKind
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.execution.episode_stream import read_episode
from tester.execution.events import Role, Verdict
from tester.generator.generator import GeneratorConfig, generate_program
from tester.generator.unaligned import Unaligned
from tester.native.program import ProgramView
from tester.program.address_map import MapConfig
from tester.program.array_validation import shape_errors
from tester.program.expectations import derive
from tester.program.program import CONTINUES, GLC, LOAD, RACING_LOAD, STORE, AgentSpec, Program
from tester.program.replay_file import load_leg, save_leg
from tester.program.verifier import _check_pieces, verify
from tests.tester.program.test_replay_file import leg
from tests.tester.programs import CONFIGS, cpu, engines

Array = np.ndarray[Any, Any]


WHOLE_LINES = GeneratorConfig(
    CONFIGS["unaligned"].agents,
    400,
    MapConfig(2, None, lines=9),
    tuple(
        replace(able, whole_lines=agent.kind == "dma")
        for able, agent in zip(CONFIGS["unaligned"].all_abilities(), CONFIGS["unaligned"].agents)
    ),
    unaligned_percent=30,
    chase_percent=30,
)


WITHOUT_LOADS = replace(
    WHOLE_LINES,
    abilities=tuple(
        replace(able, whole_lines=False, loads=agent.kind != "dma")
        for able, agent in zip(WHOLE_LINES.abilities, WHOLE_LINES.agents)
    ),
    peek_percent=100,
)


def drawn(seed: int = 1) -> Program:
    return generate_program(CONFIGS["unaligned"], Prng(seed))


def accesses(program: Program) -> list[tuple[str, int, int]]:
    """(kind of agent, address, bytes) of every access of a one-lane agent."""
    found = []
    for episode in range(program.episodes):
        agent = program.agents[int(program.episode_thread[episode])]
        if agent.kind == "gpu":
            continue
        actions = read_episode(program, episode, Role.ACTION).actions
        found += [(agent.kind, request.addresses[0], request.size) for request in actions]
    return found


def two_pieces(**changes: Any) -> Program:
    """An engine stores 20 bytes over a line's end, in four rows; a processor loads 12 of them."""
    values: dict[str, Any] = {
        "agents": (AgentSpec("dma", 0, 1, "dma"), AgentSpec("cpu", 1, 1, "cpu")),
        "run_key": 7,
        "line_size": 64,
        "episode_thread": np.array([0, 1]),
        "episode_first_action": np.array([0, 4, 6]),
        "episode_group": np.array([[0], [0]]),
        "episode_scope": np.array([0, 8 | 64]),
        "group_word": np.array([0x2000]),
        "action_kind": np.array([STORE] * 4 + [LOAD] * 2),
        "action_size": np.array([8, 3, 8, 1, 7, 5]),
        "action_scope": np.array([0, CONTINUES, CONTINUES, CONTINUES, 0, CONTINUES]),
        "lane_address": np.array([[0x1035], [0x103D], [0x1040], [0x1048], [0x1031], [0x1038]]),
        "store_value": np.array([[1 << 56], [2], [3], [4], [0], [0]], np.uint64),
    }
    return derive(Program(**(values | changes)))


def test_sizes_and_places_are_of_all_kinds() -> None:
    found = [access for seed in range(10) for access in accesses(drawn(seed))]
    processors = [(address, size) for kind, address, size in found if kind == "cpu"]
    assert {size for _, size in processors} == set(range(1, 17))
    assert any(address % size for address, size in processors)
    assert all(address & 63 <= 64 - size for address, size in processors)


def test_transfers_reach_over_lines() -> None:
    config = GeneratorConfig(
        engines(3) + cpu(1), 200, MapConfig(1, None, lines=60), (), unaligned_percent=80
    )
    found = [
        access for seed in range(3) for access in accesses(generate_program(config, Prng(seed)))
    ]
    transfers = [(address, size) for kind, address, size in found if kind == "dma"]
    assert max(size for _, size in transfers) > 128
    assert any((address & 63) + size > 128 for address, size in transfers)
    assert any(address & 63 and size > 64 for address, size in transfers)
    assert any(not (address | size) & 63 for address, size in transfers)


def test_engines_that_store_whole_lines_store_nothing_else() -> None:
    """What others do, and what engines load, are lines as rarely as ever."""
    program = generate_program(WHOLE_LINES, Prng(1))
    assert verify(program) == []
    stored, others = [], []
    for episode in range(program.episodes):
        agent = program.agents[int(program.episode_thread[episode])]
        for request in read_episode(program, episode, Role.ACTION).actions:
            own = agent.kind == "dma" and request.kind == AccessKind.STORE
            (stored if own else others).append((request.addresses[0] & 63, request.size))
    assert set(stored) == {(0, 64)}
    assert len(stored) > 50
    assert len(set(others)) > 100
    limited = replace(WHOLE_LINES, unaligned_percent=0)
    assert (generate_program(limited, Prng(1)).action_scope & CONTINUES).any()


def test_engines_that_do_not_load_store_at_all_times() -> None:
    program = generate_program(WITHOUT_LOADS, Prng(1))
    assert verify(program) == []
    by_kind: dict[bool, set[int]] = {True: set(), False: set()}
    races: dict[bool, int] = {True: 0, False: 0}
    for episode in range(program.episodes):
        engine = program.agents[int(program.episode_thread[episode])].kind == "dma"
        actions = read_episode(program, episode, Role.ACTION).actions
        by_kind[engine] |= {request.kind for request in actions}
        races[engine] += bool(program.episode_scope[episode] & RACING_LOAD)
    assert by_kind == {True: {AccessKind.STORE}, False: {AccessKind.LOAD, AccessKind.STORE}}
    assert races[False] > 50
    assert not races[True]


@pytest.mark.parametrize("seed", range(4))
def test_what_is_drawn_is_a_fair_test(seed: int) -> None:
    program = drawn(seed)
    assert shape_errors(program) == []
    assert verify(program) == []
    assert (program.action_scope & CONTINUES).any()


def test_no_access_leaves_its_isolation_group() -> None:
    program = drawn()
    owner: dict[int, int] = {}
    for episode in range(program.episodes):
        isolation = CONFIGS["unaligned"].isolation_groups[int(program.episode_thread[episode])]
        for row in program.actions_of(episode):
            for address in program.lane_address[row].tolist():
                for byte in range(address, address + int(program.action_size[row])):
                    assert address < 0 or owner.setdefault(byte, isolation) == isolation


def test_pieces_are_cut_every_eight_bytes_and_at_lines() -> None:
    cut = Unaligned.pieces
    places: Any = type("Places", (), {"_line_size": 64})()
    first, end = np.array([0x1035, 0x100, 0x43]), np.array([0x1049, 0x180, 0x44])
    pieces = cut(places, first, end)
    assert pieces.rows.tolist() == [4, 16, 1]
    assert pieces.address[:4].tolist() == [0x1035, 0x103D, 0x1040, 0x1048]
    assert pieces.size[:4].tolist() == [8, 3, 8, 1]
    assert pieces.part.tolist() == [0, 1, 2, 3, *range(16), 0]
    assert pieces.size[4:].tolist() == [8] * 16 + [1]


def test_rows_of_an_access_are_asked_for_at_once() -> None:
    program = two_pieces()
    assert verify(program) == []
    (store,) = read_episode(program, 0, Role.ACTION).actions
    assert (store.kind, store.addresses, store.size) == (AccessKind.STORE, [0x1035], 20)
    assert store.values == [1 << 56 | 2 << 64 | 3 << 88 | 4 << 152]
    assert store.lines(64) == [0x1000, 0x1040]
    assert store.has_row(0) and store.has_row(3) and not store.has_row(4)
    (load,) = read_episode(program, 1, Role.ACTION, 0, 4).actions
    assert (load.addresses, load.size, load.row) == ([0x1031], 12, 0 + 4 + 4)
    assert load.expected[0] >> 32 == 1 << 56
    view = ProgramView(program).arrays
    assert view["action_size"].tolist() == [20, 12]
    assert view["action_pieces"].tolist() == [4, 2]
    assert view["first_lane"].tolist() == [0, 4, 6]
    assert view["first_action"].tolist() == [0, 1, 2]


def broken(**arrays: Callable[[Array], None]) -> Program:
    program = two_pieces()
    changed = {}
    for name, change in arrays.items():
        changed[name] = getattr(program, name).copy()
        change(changed[name])
    return replace(program, **changed)


def put(place: int, value: Any) -> Callable[[Array], None]:
    return lambda array: array.__setitem__(place, value)


BROKEN: dict[str, Program] = {
    "a gap": broken(lane_address=put(3, 0x1049)),
    "backwards": broken(lane_address=put(1, 0x1034)),
    "another kind": broken(action_kind=put(5, STORE)),
    "another scope": broken(action_scope=put(5, CONTINUES | GLC)),
    "the first of its episode": broken(action_scope=put(4, CONTINUES)),
    "over two lines": broken(action_size=put(4, 8), lane_address=put(slice(4, 6), [[57], [65]])),
    "of a wavefront": replace(two_pieces(), agents=(AgentSpec("gpu", 0, 1, "gpu"),) * 2),
    "too long": broken(
        action_scope=put(slice(4, 6), [CONTINUES] * 2), episode_first_action=put(1, 0)
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_pieces_are_refused_twice(name: str) -> None:
    program = BROKEN[name]
    assert shape_errors(program) != []
    assert list(_check_pieces(program)) != []


def test_lengths_are_bounded() -> None:
    rows = 66
    scope = np.full(rows, CONTINUES)
    scope[0] = 0
    program = two_pieces(
        episode_first_action=np.array([0, rows, rows]),
        action_kind=np.full(rows, STORE),
        action_size=np.full(rows, 8),
        action_scope=scope,
        lane_address=0x1000 + 8 * np.arange(rows)[:, None],
        store_value=np.zeros((rows, 1), np.uint64),
    )
    assert "more than 512" in " ".join(shape_errors(program))
    assert any("at once" in each for each in _check_pieces(program))


def test_any_subset_of_pieces_is_a_program() -> None:
    prng = Prng(9)
    for seed in range(3):
        program = drawn(seed)
        for percent in (10, 50, 90):
            keep = np.array([prng.below(100) < percent for _ in range(program.actions)])
            assert verify(derive(program.keep_actions(keep))) == []


def test_without_its_middle_an_access_falls_into_two() -> None:
    cut = derive(two_pieces().keep_actions(np.array([1, 1, 0, 1, 1, 1], np.bool_)))
    first, second = read_episode(cut, 0, Role.ACTION).actions
    assert (first.addresses, first.size) == ([0x1035], 11)
    assert (second.addresses, second.size) == ([0x1048], 1)
    headless = derive(two_pieces().keep_actions(np.array([0, 1, 1, 1, 0, 1], np.bool_)))
    (rest,) = read_episode(headless, 0, Role.ACTION).actions
    assert (rest.addresses, rest.size) == ([0x103D], 12)
    assert verify(cut) == verify(headless) == []


def test_files_say_which_version_they_need(tmp_path: Path) -> None:
    path = tmp_path / "unaligned.leg"
    old = leg()
    save_leg(old, path)
    assert b'"format": 1' in path.read_bytes()
    save_leg(replace(old, program=drawn()), path)
    assert b'"format": 2' in path.read_bytes()
    assert load_leg(path).program.equals(drawn())


def test_the_first_wrong_piece_is_named() -> None:
    from tester.execution.checker import Checker

    program = two_pieces()
    (load,) = read_episode(program, 1, Role.ACTION).actions
    checker = Checker(64, lambda address: 0, lambda: None)
    checker.issued(load, 10)
    checker.loaded(load, [0], 0x1000, (load.expected[0] ^ 1 << 8 * 9) << 8 * 0x31, 20)
    finding = checker.finding
    assert finding is not None
    assert finding.verdict == Verdict.WRONG_VALUE
    assert (finding.address, finding.size, finding.index) == (0x1038, 5, 0)
    assert finding.expected ^ finding.got == 1 << 16
    assert finding.headline.startswith("load of 12 bytes returned 0x")
    assert finding.headline.endswith("from byte 7 on")


DEVICES = """
[machine.Devices]
of = "L1Cache"
count = 2
[machine.Devices.buffer]
forwardFromDir = { ordered = true }
[requester.io]
machine = "Devices"
[agents.io]
requester = "io"
kind = "dma"
"""


def _stores_of_engines(campaign: Campaign, legs: int) -> list[tuple[int, int]]:
    """(offset in the line, bytes) of the stores of engines, all of whose legs pass."""
    found = []
    for number in range(legs):
        leg = campaign.plan(number).leg
        _, finding = campaign.run_leg(leg)
        assert finding is None, finding.headline
        for episode in range(leg.program.episodes):
            agent = leg.program.agents[int(leg.program.episode_thread[episode])]
            actions = read_episode(leg.program, episode, Role.ACTION).actions
            found += [
                (request.addresses[0] & 63, request.size)
                for request in actions
                if request.kind == AccessKind.STORE and agent.name.startswith(("dma", "io"))
            ]
    return found


def test_engines_without_partial_stores_store_whole_lines() -> None:
    without = {"agents.dma.without": ["partial"]}
    options = Options(1, 1 << 20, leg_episodes=40, assignments=without)
    stored = _stores_of_engines(Campaign(load_protocol("MI"), options), 12)
    assert set(stored) == {(0, 64)}
    assert len(stored) > 20


def test_a_device_with_the_requester_of_a_processor_keeps_to_a_line(tmp_path: Path) -> None:
    text = (Path(protocols.__file__).parent / "MSI.toml").read_text(encoding="utf-8")
    system = tmp_path / "devices.toml"
    text = text.replace("L1Cache", "Caches").replace("count = 4", 'of = "L1Cache"\ncount = 4')
    system.write_text(text + DEVICES, encoding="utf-8")
    campaign = Campaign(load_protocol("MSI", system=system), Options(1, 1 << 20, leg_episodes=20))
    of_devices: list[int] = []
    for number in range(12):
        leg = campaign.plan(number).leg
        _, finding = campaign.run_leg(leg)
        assert finding is None, finding.headline
        of_devices += [size for kind, _, size in accesses(leg.program) if kind == "dma"]
    assert 8 < max(of_devices) <= 16
    assert _stores_of_engines(campaign, 4)
    system.write_text(text + DEVICES + 'without = ["partial"]\n', encoding="utf-8")
    campaign = Campaign(load_protocol("MSI", system=system), Options(1, 1 << 20, leg_episodes=20))
    stored = _stores_of_engines(campaign, 12)
    assert set(stored) == {(0, 64)}
    assert len(stored) > 5
