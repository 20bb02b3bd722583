"""Both engines count the same, on every shipped protocol; and counting changes nothing of a run."""

from __future__ import annotations

import pytest

from protocols.loader import load
from runtime.statistics.words import TallyWord
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.statistics.statistics import Statistics

OPTIONS = Options(3, 45, leg_episodes=15)
SLOW = [
    pytest.param(name, marks=pytest.mark.slow)
    for name in ("MSI", "MSI_Snoop", "MESI_Two_Level", "GPU_VIPER_APU", "MOESI_AMD_Base")
]


def campaign(name: str, choice: Choice, counts: bool = True) -> Campaign:
    protocol = load(name, native=True)
    engine = choose(choice, protocol, str, counts=counts)
    try:
        made = Campaign(protocol, OPTIONS, engine, counts=counts)
        for plan in made.plans():
            _, finding = made.run_leg(plan.leg)
            assert finding is None
        return made
    finally:
        engine.close()


def counted(made: Campaign) -> Statistics:
    assert made.statistics is not None
    return made.statistics


@pytest.mark.parametrize("name", ["MI", pytest.param("GPU_VIPER", marks=pytest.mark.slow), *SLOW])
def test_engines_count_the_same(name: str) -> None:
    native, python = (campaign(name, choice) for choice in (Choice.native, Choice.python))
    mine, theirs = counted(native), counted(python)
    for what in ("messages", "bytes", "machines", "latencies", "interval", "occupancy", "legs"):
        assert getattr(mine, what) == getattr(theirs, what), what
    assert native.coverage == python.coverage
    assert mine.legs == 3 and sum(mine.messages.values()) > 500
    assert {"load", "store"} <= mine.latencies.keys()
    for what in TallyWord:
        if what is not TallyWord.STALLS:  # most protocols set messages aside
            assert any(mine.tally(machine, what) for machine in mine.machines), what


def test_counting_changes_nothing() -> None:
    plain = campaign("MI", Choice.python, counts=False)
    assert plain.statistics is None
    mine = campaign("MI", Choice.python)
    assert (mine.totals, mine.coverage) == (plain.totals, plain.coverage)
