"""Planted bugs end in the same verdict in the same episode, whichever engine met them."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign import Campaign, Options
from tester.engines import PYTHON, Chosen
from tests.native.equality import native_engine
from tests.planted.bug import Bug
from tests.planted.bugs import BUGS, BY_NAME

QUICK = (
    "tcp-store-without-mask",
    "tcc-drops-a-waiting-request",
    "dir-merged-store-is-forgotten",
)
SEEDS = (1, 2)
EPISODES = 600


@pytest.mark.parametrize("name", QUICK)
def test_gross_bugs_end_alike(name: str, tmp_path: Path) -> None:
    assert alike(BY_NAME[name], tmp_path, 1, 500) != "passed"


@pytest.mark.planted
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_every_bug_ends_alike(bug: Bug, tmp_path: Path) -> None:
    for seed in SEEDS:
        directory = tmp_path / str(seed)
        directory.mkdir()
        alike(bug, directory, seed, EPISODES)


def alike(bug: Bug, directory: Path, seed: int, episodes: int) -> str:
    """How the default campaign ends on both engines, which must be the same.

    A leg that fails natively is confirmed by the Python engine within the campaign already; here
    the Python engine goes alone, so that what only one of them finds is seen, too.
    """
    protocol = load_protocol(str(bug.plant(directory)), native=True)
    native = ending(protocol, native_engine(protocol), seed, episodes)
    assert native == ending(protocol, PYTHON, seed, episodes)
    return native


def ending(protocol: LoadedProtocol, engine: Chosen, seed: int, episodes: int) -> str:
    campaign = Campaign(protocol, Options(seed, episodes), engine)
    number = 0
    while campaign.totals.episodes < episodes:
        _, finding = campaign.run_leg(campaign.plan(number).leg)
        if finding is not None:
            return (
                f"leg {number}, episode {campaign.totals.episodes}, tick {finding.tick}, "
                f"{finding.verdict.value}: {finding.headline}"
            )
        number += 1
    return "passed"
