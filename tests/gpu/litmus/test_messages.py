"""Runs that are watched."""

from __future__ import annotations

from gpu.litmus.library import shipped
from gpu.litmus.messages import Accessed, Sent, watch
from gpu.litmus.series import outcome_of, steered_outcome
from gpu.litmus.single_run import Machine, run_instances
from gpu.litmus.situation import situation
from gpu.litmus.steering.direction import directed
from gpu.litmus.steering.search import explore


def test_a_stale_value_can_be_followed() -> None:
    test = shipped("MP+relaxed+agent")
    way = explore(test, "gfx803", wanted=lambda ended: ended == (1, 0), whole=True).way
    assert way is not None
    run = watch(test, directed(test.program, way), 0, "gfx803")
    assert run.outcome == (1, 0) == steered_outcome(test, Machine(), way)
    words = {each.words: each for each in reversed(run.events)}
    late, early = words["WriteThrough x = 1"], words["WriteThrough f = 1"]
    assert isinstance(late, Sent) and isinstance(early, Sent)
    assert late.tick < early.tick < early.arrival < words["loaded x: 0"].tick < late.arrival
    assert words["loaded f: 1"].tick < words["loaded x: 0"].tick
    assert list(run.names.values()) == ["TCP1 P0", "TCP2 P1", "TCC0 x", "TCC1 f", "Directory0"]


def test_cores_are_watched() -> None:
    test = shipped("MP+relaxed+kernel-to-core")
    run = watch(test, situation(test.program, 1, 4, {}), 0, "gfx803")
    assert run.outcome == outcome_of(test, Machine(), 1, 4)
    (core,) = (name for name, called in run.names.items() if "P1" in called)
    loads = [each.words for each in run.events if isinstance(each, Accessed) and each.where == core]
    assert {word.partition(":")[0] for word in loads} >= {"load f", "loaded f", "loaded x"}


def test_what_happens_before_the_threads_begin_is_left_out() -> None:
    test = shipped("MP+acq-rel+agent")
    run = watch(test, situation(test.program, 1, 1, {}), 0, "gfx803")
    ticks = [each.tick for each in run.events]
    assert ticks == sorted(ticks) and min(ticks) >= 6000
    assert any(each.words == "invalidate" for each in run.events)


def test_one_instance_of_a_launch_is_followed() -> None:
    test = shipped("MP+relaxed+agent")
    drawn = situation(test.program, 1, 8, {}, 8)
    ends = run_instances(test.program, drawn, Machine())
    for instance in (0, 5):
        run = watch(test, drawn, instance, "gfx803")
        assert run.outcome == ends[instance]
        words = [each.words for each in run.events if isinstance(each, Accessed)]
        loaded = [each for each in words if each.startswith("loaded")]
        assert sorted(loaded) == [f"loaded f: {run.outcome[0]}", f"loaded x: {run.outcome[1]}"]
        stores = [each for each in words if each.startswith("store ") and " = " in each]
        assert stores == ["store x = 1", "store f = 1"]
