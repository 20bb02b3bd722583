"""What legs are dealt: by yields alone, the same after a resumption, and always possible."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from protocols.loader import load_protocol
from runtime.prng import Prng
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import NO_END, Options
from tester.campaign.drawing.profile_schedule import Turn, rotation
from tester.campaign_directory.guidance import EPOCH, KNOBS, LAG, Guide, Yield
from tester.profiles import machine_roles, profiles

DECK = (Turn("replacement"), Turn("system"), Turn("system"), Turn("line-duel", {"dmas": 1}))


def guide(fixed: dict[str, object] | None = None) -> Guide:
    return Guide(Prng(7), DECK, fixed or {})


def pairs_of(number: int, turn: Turn) -> int:
    """Only legs of one profile, and with one knob, bring anything."""
    return 90 * (turn.profile == "line-duel") + 20 * (turn.pinned.get("delays") == "skewed")


def taught(legs: int, fixed: dict[str, object] | None = None) -> tuple[Guide, list[Turn]]:
    found = guide(fixed)
    turns: list[Turn] = []
    for number in range(legs):
        turns.append(found.turn(number) or DECK[number % len(DECK)])
        found.learn(Yield(turns[-1], pairs_of(number, turns[-1]), 10_000))
    return found, turns


def test_what_brings_more_is_dealt_more_often() -> None:
    _, turns = taught(20 * EPOCH)
    last = turns[-4 * EPOCH :]
    profiles_of = Counter(turn.profile for turn in last)
    assert profiles_of["line-duel"] > 2 * profiles_of["system"] > 0
    assert profiles_of["replacement"] > 0, "nothing is given up"
    delays = Counter(turn.pinned.get("delays") for turn in last)
    assert delays["skewed"] > 1.5 * delays["uniform"] > 0
    assert delays[None] > len(last) // 2, "a knob is mostly left alone"
    assert all(turn.pinned.get("dmas") == 1 for turn in last if turn.profile == "line-duel")


def test_a_leg_is_dealt_when_those_before_it_are_known() -> None:
    found, _ = taught(3 * EPOCH - LAG - 1)
    assert found.knows(3 * EPOCH - 1 - EPOCH) and not found.knows(3 * EPOCH)
    found.learn(Yield(DECK[0], 0, 0))
    assert found.knows(3 * EPOCH) and found.knows(4 * EPOCH - 1)
    assert not found.knows(4 * EPOCH)


@pytest.mark.parametrize("place", [0, 5, EPOCH - LAG - 1, EPOCH - LAG, EPOCH - 1])
@pytest.mark.parametrize("epochs", [1, 3, 12])
def test_a_resumed_guide_deals_the_same(epochs: int, place: int) -> None:
    known = epochs * EPOCH + place
    whole, turns = taught(known)
    first = Guide.first_of_use(known)
    resumed = guide()
    resumed.skip(first)
    for number in range(first, known):
        resumed.learn(Yield(turns[number], pairs_of(number, turns[number]), 10_000))
    for number in range(known, known + 2 * EPOCH):
        assert whole.knows(number) == resumed.knows(number)
        if whole.knows(number):
            assert whole.turn(number) == resumed.turn(number)
            nothing = Yield(whole.turn(number) or DECK[0], 3, 500)
            whole.learn(nothing)
            resumed.learn(nothing)


def test_what_the_user_sets_is_no_knob() -> None:
    _, turns = taught(4 * EPOCH, {"delays": "uniform"})
    assert not any("delays" in turn.pinned for turn in turns)


@pytest.mark.parametrize("name", ["MI", "MESI_Two_Level", "GPU_VIPER"])
def test_every_profile_can_have_every_knob(name: str) -> None:
    protocol = load_protocol(name)
    is_gpu = machine_roles.has_gpu(protocol.description)
    names = sorted({turn.profile for turn in rotation(is_gpu)})
    assert set(names) <= set(profiles.names())
    campaign = Campaign(protocol, Options(3, NO_END, leg_episodes=1))
    values = [(knob, value) for knob, of in KNOBS.items() for value in of]
    for number, (profile, (knob, value)) in enumerate(product(names, values)):
        if number % 12 == len(name) % 12:
            plan = campaign.plan(number, Turn(profile, {knob: value}))
            assert plan.leg.profile == profile
