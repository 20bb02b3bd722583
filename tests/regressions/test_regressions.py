"""Failures of earlier seeds, as scenarios: they pass now, and must go on passing.

A file lies in the folder of its protocol. One that names a planted bug (``# planted: NAME``) fails
with it: a regression that no change could break would test nothing. To add one, run the failing leg
through ``gpu-tester shrink`` and keep its text here.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, load
from slicc.scenario_text.parser import read_scenario
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.execution.events import Finding
from tester.litmus.binding import bind
from tests.planted.bugs import BY_NAME

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.rglob("*.litmus"))
NAMED = [
    (file, name)
    for file in FILES
    for name in re.findall(r"^# planted: (\S+)$", file.read_text(encoding="utf-8"), re.M)
]


def finding_in(file: Path, protocol: LoadedProtocol) -> Finding | None:
    """The first failure of its keys and delays, on the Python engine."""
    bound = bind(read_scenario(file), protocol)
    assert not bound.scenario.racy, "a regression is judged byte by byte"
    campaign = Campaign(protocol, Options(1, 1))
    for key, delays in product(bound.keys, bound.delays):
        _, finding = campaign.run_leg(bound.leg(key, delays)[0])
        if finding is not None:
            return finding
    return None


def called(file: Path) -> str:
    return file.relative_to(FOLDER).as_posix()


def test_there_are_some_and_each_has_its_protocol() -> None:
    assert len(NAMED) >= 2
    for file in FILES:
        assert read_scenario(file).protocol == file.parent.name


@pytest.mark.parametrize("file", FILES, ids=called)
def test_an_earlier_failure_passes(file: Path) -> None:
    assert finding_in(file, load(file.parent.name)) is None


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda each: str(each).rpartition("/")[2])
def test_it_fails_with_its_bug(file: Path, name: str, tmp_path: Path) -> None:
    planted = BY_NAME[name].plant(tmp_path)
    finding = finding_in(file, load(planted))
    assert finding is not None
    assert finding.verdict in BY_NAME[name].verdicts
