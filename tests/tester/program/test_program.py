"""The representation: chunks, deletion, identity, and arrays that cannot be read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tester.program.array_validation import shape_errors
from tester.program.expectations import derive
from tester.program.program import LOAD, Program, concatenate
from tester.program.verifier import verify
from tests.tester.programs import small


def test_arrays_are_frozen_and_typed() -> None:
    program = small()
    assert program.lane_address.dtype == np.int64
    assert program.episode_thread.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        program.lane_address[0, 0] = 4


def test_accessors_agree_with_the_arrays() -> None:
    program = small()
    episode = 7
    actions = program.actions_of(episode)
    assert set(program.action_episode()[actions.start : actions.stop].tolist()) == {episode}
    assert program.episode_ordinal()[episode] == np.count_nonzero(
        program.episode_thread[:episode] == program.episode_thread[episode]
    )
    assert program.episodes_by_agent().sum() == program.episodes
    lanes = sum(len(program.groups_of(e)) for e in range(program.episodes))
    assert program.increments().sum() == 2 * lanes


@pytest.mark.parametrize("size", [1, 7, 40, 100])
def test_parts_make_the_whole_again(size: int) -> None:
    program = small()
    parts = list(program.parts(size))
    assert sum(p.episodes for p in parts) == program.episodes
    assert concatenate(parts).equals(program)
    assert concatenate(parts).digest() == program.digest()


def test_parts_that_do_not_follow_are_refused() -> None:
    first, second, *_ = small().parts(10)
    with pytest.raises(ValueError, match="does not continue"):
        concatenate([second, first])
    with pytest.raises(ValueError, match="different programs"):
        concatenate([first, replace(second, run_key=1)])


def test_a_difference_changes_the_digest() -> None:
    program = small()
    expected = program.expected.copy()
    expected[0, 0] ^= np.uint64(1)
    other = replace(program, expected=expected)
    assert not other.equals(program)
    assert other.digest() != program.digest()


def _legal(program: Program) -> Program:
    assert not program.derived
    program = derive(program)
    assert verify(program) == []
    return program


def test_any_subset_of_episodes_is_a_program() -> None:
    program = small()
    keep = np.arange(program.episodes) % 3 != 1
    less = _legal(program.keep_episodes(keep))
    assert less.episodes == keep.sum()
    assert np.array_equal(less.episode_thread, program.episode_thread[keep])
    agents = np.array([True, False, True, True])
    assert 1 not in _legal(program.keep_agents(agents)).episode_thread


def test_any_subset_of_lanes_is_a_program() -> None:
    program = small()
    keep = np.ones((program.episodes, program.lanes), np.bool_)
    keep[:, 1] = False
    keep[3] = False
    less = _legal(program.keep_lanes(keep))
    assert less.episodes == program.episodes - 1
    assert not (less.episode_group[:, 1] >= 0).any()
    assert not (less.lane_address[:, 1] >= 0).any()


def test_any_subset_of_actions_is_a_program() -> None:
    program = small()
    loads = _legal(program.keep_actions(np.asarray(program.action_kind == LOAD)))
    assert loads.episodes == program.episodes
    assert loads.waits == 0  # no stores are left
    assert np.count_nonzero(loads.store_value) == 0
    none = _legal(program.keep_actions(np.zeros(program.actions, np.bool_)))
    assert (none.episodes, none.actions) == (program.episodes, 0)
    one = np.zeros(program.lane_address.shape, np.bool_)
    one[5, np.argmax(program.active()[5])] = True
    assert _legal(program.keep_slots(one)).active().sum() == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episode_thread": np.array([99] * 40)}, "episode_thread[0] is 99, 0 to 3 are possible"),
        ({"episode_first_action": np.zeros(41)}, "episode_first_action[40] is 0: it does not cut"),
        ({"episode_first_action": np.zeros(3)}, "episode_first_action has shape"),
        ({"episode_group": np.full((40, 4), 2)}, "episode_group[0, 0] is 2, -1 to 1 are possible"),
        ({"episode_group": np.zeros(40)}, "1 dimensions"),
        ({"lane_address": np.zeros((2, 4))}, "lane_address has shape"),
        ({"wait_count": np.zeros(1)}, "wait_count has shape"),
        ({"line_size": 48}, "line size 48"),
        ({"agents": ()}, "0 agents"),
    ],
)
def test_unreadable_arrays_are_named(change: dict[str, object], message: str) -> None:
    broken = replace(small(), **change)  # type: ignore[arg-type]
    errors = shape_errors(broken)
    assert any(message in error for error in errors), errors
    assert verify(broken) == errors[:20]
