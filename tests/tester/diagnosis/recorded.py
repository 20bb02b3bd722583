"""Recordings that tests of pictures share: a planted bug in its shortest leg, a passing run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from protocols.loader import LoadedProtocol, load_protocol
from protocols.transition_texts import Cell, TransitionText, transition_texts
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.recording import record
from tester.diagnosis.events.recording import Recording
from tester.program.replay_file import Leg
from tests.planted.bugs import BY_NAME


def leg_of(
    protocol: LoadedProtocol, episodes: int = 30, profile: str = "default", seed: int = 1
) -> Leg:
    options = Options(seed, episodes, profile, leg_episodes=episodes)
    return Campaign(protocol, options).plan(0).leg


@cache
def passing(name: str = "MI", episodes: int = 10) -> tuple[Leg, Recording]:
    protocol = load_protocol(name)
    leg = leg_of(protocol, episodes)
    return leg, record(leg, protocol)


@cache
def texts(name: str = "MI") -> Mapping[Cell, TransitionText]:
    return transition_texts(name)


@cache
def failing() -> tuple[Leg, Recording]:
    """Two owners of one line: a load returns an old value."""
    with TemporaryDirectory() as folder:
        protocol = load_protocol(str(BY_NAME["mi-two-owners"].plant(Path(folder))))
        leg = leg_of(protocol)
        recording = record(leg, protocol)
        assert recording.finding is not None
        return leg, record(leg, protocol, recording.finding)
