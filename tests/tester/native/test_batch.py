"""Legs that share a call of the native engine end as they do alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np
import pytest

from tester.campaign.campaign import AnyRun, Campaign
from tester.campaign.drawing.options import Options
from tester.execution.events import Verdict
from tester.execution.handover import handover_rules_of
from tester.native import batch as native_batch
from tester.native.batch import Counts, LegBatch, NativeLegResult
from tester.native.leg import NativeLegRun
from tester.program.expectations import BLOCK_EPISODES, derive
from tester.program.replay_file import Leg
from tests.tester.native.equality import PROTOCOLS, engine, loaded, native

FIELDS = ("live", "live_time", "handover_time", "agent_time", "end")


def drawn(protocol: str, numbers: Sequence[int], episodes: int = 12) -> list[Leg]:
    campaign = Campaign(loaded(protocol), Options(5, 10**6, leg_episodes=episodes))
    return [campaign.plan(number).leg for number in numbers]


def parts(leg: Leg, count: int) -> list[Leg]:
    """The same system with ever fewer episodes, down to one."""
    program = leg.program
    kept = [np.arange(program.episodes) % (number + 2) == 0 for number in range(count)]
    return [replace(leg, program=derive(program.keep_episodes(keep))) for keep in kept]


def batch(protocol: str) -> LegBatch:
    return LegBatch(native(protocol), handover_rules_of)


def alone(protocol: str, leg: Leg) -> NativeLegRun:
    run = NativeLegRun(leg, native(protocol), handover_rules_of(leg))
    run.run()
    return run


def assert_alike(protocol: str, leg: Leg, result: NativeLegResult) -> None:
    run = alone(protocol, leg)
    outcome = run.outcome
    assert result.failure == run.failure
    assert result.transitions == run.transitions
    assert result.trace_hash == run.system.trace_hash
    assert (result.episodes, result.lane_accesses, result.ticks, result.flushed) == (
        outcome.episodes,
        outcome.lane_accesses,
        outcome.ticks,
        outcome.flushed,
    )
    found = outcome.finding
    about = (-1, "") if found is None else (found.address, found.stuck)
    assert (result.address, result.stuck) == about
    for name in FIELDS:
        assert getattr(result.concurrency, name) == getattr(outcome.concurrency, name), name


def at_once(leg: Leg) -> Leg:
    return replace(leg, description=leg.description.override({"network.delays": "nominal"}))


def figures(result: NativeLegResult) -> tuple[object, ...]:
    return (*astuple(result)[:-1], *(getattr(result.concurrency, name) for name in FIELDS))


def wrong(leg: Leg) -> Leg:
    """The same, but its first load expects what it will not get."""
    program = leg.program
    expected = program.expected.copy()
    loads = (program.action_kind == 0)[:, None] & program.active()
    expected[tuple(np.argwhere(loads)[0])] ^= 1
    return replace(leg, program=replace(program, expected=expected))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_legs_end_as_they_do_alone(protocol: str) -> None:
    legs = drawn(protocol, (0, 3, 8))
    legs += parts(legs[0], 4)
    results = batch(protocol).run(legs)
    assert all(not result.failure for result in results)
    assert len({result.trace_hash for result in results}) == len(legs)
    for leg, result in zip(legs, results, strict=True):
        assert_alike(protocol, leg, result)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_programs_must_observe_is_derived_on_the_way(protocol: str) -> None:
    legs = drawn(protocol, (0, 3, 8))
    legs += parts(legs[1], 2)
    bare = [replace(leg, program=replace(leg.program, derived=False)) for leg in legs]
    assert any(leg.program.waits for leg in legs)
    ours = batch(protocol)
    results = ours.run(bare)
    assert all(not result.failure for result in results)
    assert [figures(each) for each in results] == [figures(each) for each in ours.run(legs)]


def test_what_does_not_fit_at_first_is_derived_with_more_room() -> None:
    (leg,) = drawn("MSI", (0,), 60)
    bare = replace(leg, program=replace(leg.program, derived=False))
    ours = batch("MSI")
    expected = [figures(result) for result in ours.run([leg])]
    ours._arena = np.empty(1 << 10, np.uint8)
    assert [figures(result) for result in ours.run([bare])] == expected
    assert ours._arena.size > 1 << 10


def test_what_is_derived_in_several_blocks_is_derived_before() -> None:
    (leg,) = drawn("MSI", (0,), BLOCK_EPISODES + 100)
    bare = replace(leg, program=replace(leg.program, derived=False))
    assert leg.program.episodes > BLOCK_EPISODES
    (ours,), (theirs,) = (batch("MSI").run([each]) for each in (bare, leg))
    assert figures(ours) == figures(theirs)


def test_requesters_may_have_higher_numbers_than_agents() -> None:
    leg = Campaign(loaded("GPU_VIPER"), Options(1, 20_000, leg_episodes=35)).plan(61).leg
    ports = {agent.requester for agent in leg.program.agents}
    assert max(ports) >= len(leg.program.agents) - 1
    (result,) = batch("GPU_VIPER").run([leg])
    assert result.failure == ""
    assert_alike("GPU_VIPER", leg, result)


def test_engines_that_only_store_read_nothing_back() -> None:
    without = {"agents.dma.without": ["loads"]}
    campaign = Campaign(loaded("MI"), Options(5, 10**6, leg_episodes=30, assignments=without))
    legs = [campaign.plan(number).leg for number in range(6)]
    rules = [handover_rules_of(leg) for leg in legs]
    assert sum(not all(each.reads_back) for each in rules) > 2
    for leg, result in zip(legs, batch("MI").run(legs), strict=True):
        assert result.failure == ""
        assert_alike("MI", leg, result)


def test_what_ran_before_in_the_memory_changes_nothing() -> None:
    legs = [*drawn("GPU_VIPER", (0, 1)), *drawn("GPU_VIPER", (2,), 3)]
    # Without delays nothing writes the line of a message, by which the processor fetches ahead.
    legs += [at_once(leg) for leg in legs[:2]]
    ours = batch("GPU_VIPER")
    first = [figures(result) for result in ours.run(legs)]
    ours._block[:] = 0xAB  # what is not written is not read
    assert [figures(result) for result in ours.run(legs[::-1])] == first[::-1]
    assert [figures(result) for result in ours.run(legs)] == first


def test_a_leg_that_fails_leaves_its_neighbours_alone() -> None:
    legs = drawn("MSI", (0, 1, 2))
    late = replace(legs[1], deadlock_limit=1)
    mixed = [legs[0], wrong(legs[0]), late, wrong(legs[2]), legs[2]]
    results = batch("MSI").run(mixed)
    assert [bool(result.failure) for result in results] == [False, True, True, True, False]
    assert results[1].failure == Verdict.WRONG_VALUE.value
    assert results[2].failure == Verdict.HANG.value
    assert results[2].ending == f"hang {results[2].stuck}" != "hang "
    assert results[1].ending == results[1].failure
    for leg, result in zip(mixed, results, strict=True):
        assert_alike("MSI", leg, result)


def test_the_campaign_names_the_failures() -> None:
    campaign = Campaign(loaded("MSI"), Options(1, 100), engine("MSI"))
    (leg,) = drawn("MSI", (0,))
    legs = [leg, wrong(leg), replace(leg, deadlock_limit=1), *parts(leg, 2)]
    assert campaign.failures_of(legs) == [campaign.failure_of(each) for each in legs]
    in_python = Campaign(loaded("MSI"), Options(1, 100))
    assert in_python.failures_of(legs[:2]) == campaign.failures_of(legs[:2])
    endings = campaign.endings_of(legs[:3])
    assert in_python.endings_of(legs[:3]) == endings
    assert endings[2].startswith("hang ")


def test_counts_are_those_of_legs_that_pass() -> None:
    legs = drawn("MESI_Two_Level", (0, 1))
    info = loaded("MESI_Two_Level").info
    counts = Counts(info)
    batch("MESI_Two_Level").run([legs[0], wrong(legs[0]), legs[1]], counts)
    runs = [alone("MESI_Two_Level", leg) for leg in legs]
    for name, table in counts.tables().items():
        theirs = [run.counts()[name] for run in runs if name in run.counts()]
        assert (table.table == sum(each.table for each in theirs)).all()
        assert {each.stride for each in theirs} <= {table.stride}
    assert counts.cells.sum() == sum(run.transitions for run in runs)


def test_more_memory_is_found_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    legs = drawn("GPU_VIPER", (0, 1), 30)
    monkeypatch.setattr(native_batch, "_ARENA", 64)
    small = batch("GPU_VIPER")
    monkeypatch.setattr(native_batch, "_BLOCK", 1 << 12)
    none = batch("GPU_VIPER")
    for ours in (small, none):
        for leg, result in zip(legs, ours.run(legs), strict=True):
            assert_alike("GPU_VIPER", leg, result)


def test_long_legs_show_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    legs = drawn("MI", (0, 1, 2))
    expected = [figures(result) for result in batch("MI").run(legs)]
    monkeypatch.setattr(native_batch, "_STEPS", 1)
    shown: list[NativeLegResult] = []
    assert [figures(each) for each in batch("MI").run(legs, None, shown.append)] == expected
    ticks = [each.ticks for each in shown]
    assert len(ticks) > len(legs)
    assert max(ticks) <= max(int(str(each[3])) for each in expected)
    monkeypatch.setattr(native_batch, "SMALL_LEG", legs[1].program.lane_address.size - 1)
    mixed = batch("MI").run(legs)
    assert any(result.memory_hash == 0 for result in mixed)
    monkeypatch.undo()
    for one, other in zip(mixed, batch("MI").run(legs), strict=True):
        assert figures(replace(other, memory_hash=one.memory_hash)) == figures(one)


def test_a_leg_that_is_interrupted_counts_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_batch, "_STEPS", 1)
    campaign = Campaign(loaded("MI"), Options(5, 10**6, leg_episodes=60), engine("MI"))
    seen: list[int] = []

    def stop(run: AnyRun) -> None:
        seen.append(run.transitions)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign.run_leg(campaign.plan(0).leg, stop)
    assert campaign.transitions == seen[-1] > seen[0] > 0
    assert 0 < campaign.totals.episodes < 60


def test_the_memory_hash_is_of_what_was_written() -> None:
    (leg,) = drawn("MI", (0,))
    other = replace(leg, program=derive(replace(leg.program, run_key=leg.program.run_key + 1)))
    ours = batch("MI")
    first, second, third = (result.memory_hash for result in ours.run([leg, leg, other]))
    assert first == second != third
