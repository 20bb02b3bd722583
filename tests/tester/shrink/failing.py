"""A failing leg of a protocol with a planted bug, on the Python engine: nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.program.replay_file import Leg
from tester.shrink.search import Shrinker, Shrunk
from tester.shrink.trials import Trials
from tests.planted.bug import Bug, plant_together
from tests.planted.bugs import BY_NAME


@dataclass(frozen=True)
class Failing:
    """The first failing leg of a short campaign."""

    campaign: Campaign
    leg: Leg

    @property
    def protocol(self) -> LoadedProtocol:
        return self.campaign.protocol

    def shrunk(self, leg: Leg | None = None, most: int = 3000) -> Shrunk:
        return Shrinker(leg or self.leg, self.protocol, Trials(self.campaign), most).run()


def failing(directory: Path, *names: str, episodes: int = 16) -> Failing:
    bugs: list[Bug] = [BY_NAME[name] for name in names]
    main, left = plant_together(bugs, directory)
    assert not left
    campaign = Campaign(load_protocol(str(main)), Options(1, 4000, leg_episodes=episodes))
    for number in range(100):
        leg = campaign.plan(number).leg
        if campaign.failure_of(leg):
            return Failing(campaign, leg)
    raise AssertionError("no leg fails")
