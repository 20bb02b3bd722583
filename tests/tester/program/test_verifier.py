"""Every rule that makes a program a fair test is broken once here, and must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tester.program.expectations import derive
from tester.program.program import LOAD, STORE, Program
from tester.program.verifier import MAX_MESSAGES, verify
from tests.sampling import sampled
from tests.tester.programs import gpu, small

Array = np.ndarray[Any, Any]


def hand_written(**changes: Any) -> Program:
    """Wave 0 stores 8 bytes; wave 1 loads them and stores behind them; wave 0 reads that.

    Two lanes, one group with its word at 0x1000, data from 0x1008.
    """
    values: dict[str, Any] = {
        "agents": gpu(2, 2),
        "run_key": 7,
        "line_size": 64,
        "episode_thread": np.array([0, 1, 0]),
        "episode_first_action": np.array([0, 1, 3, 4]),
        "episode_group": np.array([[0, -1], [0, 0], [0, 0]]),
        "group_word": np.array([0x1000, 0x1030]),
        "action_kind": np.array([STORE, LOAD, STORE, LOAD]),
        "action_size": np.array([8, 4, 2, 1]),
        "lane_address": np.array([[0x1008, -1], [0x1008, 0x100C], [0x1010, -1], [0x1011, 0x1011]]),
        "store_value": np.array([[0x8877665544332211, 0], [0, 0], [0xBBAA, 0], [0, 0]], np.uint64),
    }
    return Program(**(values | changes))


def test_the_example_is_legal_and_derived_as_one_would_by_hand() -> None:
    program = derive(hand_written())
    assert verify(program) == []
    assert program.expected.tolist() == [[0, 0], [0x44332211, 0x88776655], [0, 0], [0xBB, 0xBB]]
    assert [program.waits_of(e) for e in range(3)] == [[], [(0, 1)], [(1, 1)]]


def test_write_after_read_waits_too() -> None:
    program = derive(
        hand_written(
            action_kind=np.array([LOAD, LOAD, LOAD, STORE]),
            lane_address=np.array([[0x1008, -1], [0x1008, 0x1008], [0x1010, -1], [0x1012, -1]]),
            store_value=np.zeros((4, 2), np.uint64),
            action_size=np.array([8, 4, 4, 1]),
        )
    )
    assert verify(program) == []
    assert [program.waits_of(e) for e in range(3)] == [[], [], [(1, 1)]]


FORM: list[tuple[dict[str, Any], str]] = [
    ({"lane_address": np.array([[0x100A, -1]] + [[0x1010, -1]] * 3)}, "not aligned"),
    ({"episode_group": np.array([[0, -1], [0, -1], [0, 0]])}, "lane is off for this episode"),
    ({"episode_group": np.array([[0, -1], [0, 0], [-1, -1]])}, "episode 2 has no active lane"),
    ({"agents": gpu(1, 2) + gpu(1, 1)}, "uses lane 1 of wave0, it has 1"),
    ({"lane_address": np.array([[0x1008, -1]] * 3 + [[-1, -1]])}, "action 3 has no lane"),
    ({"store_value": np.array([[1, 0], [0, 0], [1 << 16, 0], [0, 0]], np.uint64)}, "is wider than"),
    ({"store_value": np.array([[1, 0], [5, 0], [1, 0], [0, 0]], np.uint64)}, "stores nothing"),
    ({"store_value": np.array([[1, 9], [0, 0], [1, 0], [0, 0]], np.uint64)}, "stores nothing"),
    ({"group_word": np.array([0x1002, 0x1030])}, "is not aligned"),
    ({"group_word": np.array([0x1000, 0x1000])}, "overlaps the atomic word of group 0"),
    ({"group_word": np.array([0x1000, 0x100C])}, "touches the atomic word of group 1"),
    ({"episode_group": np.array([[0, -1], [1, 0], [0, 0]])}, "touches the data of group 0"),
    (
        {
            "lane_address": np.array(
                [[0x1008, -1], [0x1010, 0x1010], [0x1010, 0x1012], [0x1020, -1]]
            )
        },
        "is stored, and touched by lanes 0, 1",
    ),
    (
        {"lane_address": np.array([[0x1008, -1], [-1, 0x1010], [0x1010, 0x1010], [0x1020, -1]])},
        "is stored, and touched by lanes 0, 1",
    ),
]


@pytest.mark.parametrize(("change", "message"), FORM, ids=[m for _, m in FORM])
def test_broken_form_is_found(change: dict[str, Any], message: str) -> None:
    program = hand_written(**change)
    shape = program.lane_address.shape
    bare = replace(
        program, derived=True, expected=np.zeros(shape, np.uint64), wait_first=np.zeros(4, np.int64)
    )
    errors = verify(bare)
    assert any(message in error for error in errors), errors


def test_lines_are_not_crossed() -> None:
    # Alignment forbids it already as long as lines are longer than accesses, hence the odd address.
    program = hand_written(
        lane_address=np.array([[0x103C, -1], [0x1010, -1], [0x1012, -1], [0x1014, -1]])
    )
    assert any("crosses its line" in error for error in verify(derive(program)))


def _mutate(program: Program, **arrays: Callable[[Array], None]) -> Program:
    changed = {}
    for name, edit in arrays.items():
        array = getattr(program, name).copy()
        edit(array)
        changed[name] = array
    return replace(program, **changed)


@pytest.mark.parametrize("first", sampled(range(4), 4))
def test_every_wrong_expectation_is_found(first: int) -> None:
    program = small(episodes=12)
    loads = np.argwhere(program.active() & (program.action_kind == LOAD)[:, None])
    assert len(loads) > 50
    for action, lane in loads[first::4].tolist():

        def flip(array: Array, at: tuple[int, int] = (action, lane)) -> None:
            array[at] ^= np.uint64(1 << 8 * (int(program.action_size[at[0]]) - 1))

        (error,) = verify(_mutate(program, expected=flip))
        assert f"action {action}, lane {lane}" in error
        assert "is right" in error


def test_a_forged_store_value_is_found() -> None:
    program = small()

    def forge(values: Array) -> None:
        values[values > 0] ^= np.uint64(0x55)

    assert verify(_mutate(program, store_value=forge))


def test_missing_and_weakened_waits_are_found() -> None:
    program = derive(hand_written())
    nothing: dict[str, Any] = {"wait_thread": [], "wait_count": [], "wait_kind": []}
    without = replace(program, wait_first=np.zeros(4, np.int64), **nothing)
    assert any("races with episode 0" in error for error in verify(without))

    program = small()

    def weaken(count: Array) -> None:
        count[count > 1] -= 1

    assert any("races with" in error for error in verify(_mutate(program, wait_count=weaken)))


def test_waits_point_backwards() -> None:
    program = small()

    def forward(count: Array) -> None:
        count[:] += 30

    assert all("stand before it" in e for e in verify(_mutate(program, wait_count=forward)))

    def nothing(count: Array) -> None:
        count[0] = 0

    assert any("waits for 0 episodes" in e for e in verify(_mutate(program, wait_count=nothing)))


def test_redundant_waits_do_no_harm() -> None:
    program = small()
    ordinal = program.episode_ordinal()
    waits = [program.waits_of(e) for e in range(program.episodes)]
    for e in range(1, program.episodes):  # wait for the episode just before, as well
        waits[e].append((int(program.episode_thread[e - 1]), int(ordinal[e - 1]) + 1))
    flat = [w for one in waits for w in one]
    more: dict[str, Any] = {
        "wait_first": np.cumsum([0] + [len(one) for one in waits]),
        "wait_thread": [w[0] for w in flat],
        "wait_count": [w[1] for w in flat],
        "wait_kind": [0] * len(flat),
    }
    assert verify(replace(program, **more)) == []


def test_reordered_episodes_are_found() -> None:
    program = small()

    def swap(agent: Array) -> None:
        agent[:] = agent[::-1]

    assert verify(_mutate(program, episode_thread=swap))


def test_random_mutations_of_addresses_are_found_or_harmless() -> None:
    """Whatever is done to an address: found, or the derivation makes it a legal program again."""
    program = small()
    for slot in np.flatnonzero(program.active().ravel())[::89].tolist():

        def move(address: Array, at: int = slot) -> None:
            address.ravel()[at] += 8

        moved = _mutate(program, lane_address=move)
        errors = verify(moved)
        action, lane = divmod(slot, program.lanes)
        legal = verify(derive(replace(moved, derived=False)))
        rules = ("touches the", "is stored, and touched")
        assert all(any(rule in error for rule in rules) for error in legal), legal
        is_load = program.action_kind[action] == LOAD
        if not errors and is_load:
            # Only possible if the bytes at the other place happen to be equal.
            other = derive(replace(moved, derived=False))
            assert other.expected[action, lane] == program.expected[action, lane]


def test_incomplete_programs_are_refused() -> None:
    program = small()
    assert verify(replace(program, derived=False)) == [
        "the program has no expectations and waits yet"
    ]
    _, second = program.part(0, 20), program.part(20, 40)
    assert verify(second) == ["the program starts in the middle: episodes before it are missing"]


def test_messages_are_bounded() -> None:
    program = small()

    def spoil(array: Array) -> None:
        array[:] = array ^ np.uint64(1)

    assert len(verify(_mutate(program, expected=spoil))) == MAX_MESSAGES
