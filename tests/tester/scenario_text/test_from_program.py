"""Legs that were drawn are written as text and read again: the same program on the same system."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.litmus.binding import bind, text_of_leg
from tester.program.replay_file import Leg
from tester.scenario_text.from_program import NotText
from tests.tester.scenarios import bound, protocol, scenario

GROUPS = {"episode_group", "group_word", "episode_scope"}
"""Which group an episode without fetch-adds belongs to, and whether an engine's is bare, has no
effect."""
CASES = [("MI", 0), ("MESI_Two_Level", 3), ("GPU_VIPER", 7), ("GPU_VIPER_APU", 1), ("MSI", 4)]


def drawn(name: str, number: int) -> Leg:
    options = Options(5, 10**9, leg_episodes=8)
    return Campaign(protocol(name), options).plan(number).leg


@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_leg_survives_the_way_to_text_and_back(name: str, number: int) -> None:
    leg = drawn(name, number)
    text = text_of_leg(leg, protocol(name), "a leg")
    bound = bind(scenario(text), protocol(name))
    again, _ = bound.leg(bound.keys[0], bound.delays[0])
    assert again.description.to_dict() == leg.description.to_dict()
    assert (again.run_key, again.deadlock_limit) == (leg.run_key, leg.deadlock_limit)
    for field in fields(leg.program):
        mine, theirs = getattr(leg.program, field.name), getattr(again.program, field.name)
        if isinstance(mine, np.ndarray) and field.name not in GROUPS:
            assert np.array_equal(mine, theirs), field.name
    ends = []
    for each in (leg, again):
        run = leg_run(each, build_system(protocol(name).info, each.description, each.run_key))
        ends.append((run.run_episodes().concurrency.end, run.outcome.lane_accesses))
    assert ends[0] == ends[1]


def test_loads_in_order_are_refused() -> None:
    leg, _ = bound("P0\nstore x = 1\nload y -> r0\nexists P0:r0 = 0\n", "MSI").leg(1, overlap=True)
    with pytest.raises(NotText, match="loads that wait for each other"):
        text_of_leg(leg, protocol("MSI"), "a leg")
