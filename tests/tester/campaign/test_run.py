"""Runs as programs start them: what they return, and checks of the user's own on the way."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, ProtocolMissing, load
from runtime.controller.shapes import Controller
from runtime.requesters.port import AccessKind
from runtime.system.system import System
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.run import MoreOptions, generate, replay, run
from tester.campaign.watcher import Watcher
from tester.errors import ConfigError
from tester.execution.events import Request, Verdict
from tester.program.replay_file import ReplayError, load_leg, save_leg
from tester.shrink.leg_page import draw


@pytest.fixture(scope="module")
def mi() -> LoadedProtocol:
    return load("MI")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MI whose cache keeps what it hands on."""
    directory = tmp_path_factory.mktemp("broken")
    for file in DIRECTORY.glob("MI*"):
        shutil.copy(file, directory)
    cache = directory / "MI-cache.sm"
    text = cache.read_text()
    row = "transition(M, Fwd_GETX, I) {\n    d_sendDataFromCache;\n    j_freeFrame;"
    assert text.count(row) == 1
    cache.write_text(text.replace(row, "transition(M, Fwd_GETX) {\n    d_sendDataFromCache;"))
    return directory / "MI.slicc"


def test_a_run_is_that_of_the_campaign(mi: LoadedProtocol) -> None:
    legs: list[str] = []
    result = run(mi, 100, 3, engine="python", on_leg=lambda plan: legs.append(plan.leg.profile))
    campaign = Campaign(mi, Options(3, 100))
    for plan in campaign.plans():
        campaign.run_leg(plan.leg)
    assert result.passed and result.report() == ""
    assert (result.totals, result.coverage) == (campaign.totals, campaign.coverage)
    assert len(legs) == result.totals.legs
    assert result.totals.episodes == 100


def test_all_options_can_be_given() -> None:
    named = {field.name for field in fields(Options)} - {"seed", "episodes", "version"}
    assert named == set(MoreOptions.__annotations__)


def test_options_reach_the_legs(mi: LoadedProtocol) -> None:
    leg = generate(mi, 40, 3, leg_episodes=20, fixed={"units": 2}, profile="line-duel")
    assert (leg.program.episodes, leg.profile, leg.number) == (20, "line-duel", 0)
    with pytest.raises(ConfigError):
        generate(mi, profile="nothing")
    with pytest.raises(ConfigError, match="number is -1, that of a leg is needed"):
        generate(mi, number=-1)
    with pytest.raises(ConfigError, match="there are auto, python, native"):
        run(mi, engine="fast")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episode": 3}, "there is no option episode; did you mean episodes?"),
        ({"nothing": 3}, "there is no option nothing; there are assignments, attack, avoid, "),
        ({"units": 2}, "units is an option of profiles: fixed={'units': ...}"),
        ({"seed": None}, "seed is None, an integer is needed"),
        ({"fixed": ["units"]}, "fixed is ['units'], a mapping of names to values is needed"),
        ({"assignments": "a=b"}, "assignments is 'a=b', a mapping of paths to values is needed"),
        ({"attack": "abc"}, "attack is 'abc', a tuple of names is needed"),
        ({"known_defects": "no"}, "known_defects is 'no', True or False is needed"),
        ({"watchers": [Watcher]}, "a sequence of Watchers is needed"),
        ({"watchers": Watcher()}, "a sequence of Watchers is needed"),
    ],
)
def test_what_is_no_option_is_refused_with_what_is_meant(
    mi: LoadedProtocol, options: Any, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        run(mi, **options)
    assert message in str(refused.value)


def test_what_is_no_protocol_and_no_leg_is_refused(mi: LoadedProtocol, tmp_path: Path) -> None:
    nothing: Any = None
    with pytest.raises(ProtocolMissing, match="None is no protocol: a name, a path, or what"):
        run(nothing)
    leg: Any = generate(mi, 40, 3, leg_episodes=2).program
    for source in (nothing, leg):
        with pytest.raises(ConfigError, match="is no leg: the path of a replay file, or a Leg"):
            replay(source)
        with pytest.raises(ConfigError, match=r"is no leg: tester\.generate and load_leg"):
            save_leg(source, tmp_path / "leg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"episodes": 0}, "episodes is 0, 1 to 1099511627776 are possible"),
        ({"episodes": "5"}, "episodes is '5', an integer is needed"),
        ({"episodes": 5.5}, "episodes is 5.5, an integer is needed"),
        ({"seed": -1}, "seed is -1, 0 to 18446744073709551615 are possible"),
        ({"seed": 1 << 70}, "seed is 1180591620717411303424, 0 to"),
        ({"leg_episodes": 0}, "leg_episodes is 0, 1 to"),
        ({"deadlock_limit": 1}, "deadlock_limit is 1, 100 to"),
        ({"fixed": {"cpus": 0}}, "cpus=0 would have no effect: MI has no processors beside a GPU"),
        ({"fixed": {"units": "4"}}, "option units is '4', int is needed"),
        ({"one_request_per_lane": True}, "one_request_per_lane=True would have no effect"),
        ({"attack": ("nothing",)}, "MI has no such known defect"),
        ({"stats": "costs.html"}, "stats is 'costs.html', True or False is needed"),
        ({"profile": 3}, "no profile 3"),
    ],
)
def test_what_the_command_refuses_is_refused(
    mi: LoadedProtocol, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        run(mi, engine="python", **{"episodes": 1, **options})
    assert said in str(refused.value)


def test_a_failure_has_its_leg_and_its_report(broken: Path, tmp_path: Path) -> None:
    result = run(broken, 500, 1, engine="python")
    assert not result.passed
    assert result.finding is not None and result.leg is not None
    assert result.finding.verdict.value in result.report()
    path = tmp_path / "failure.leg"
    save_leg(result.leg, path)
    again = replay(path, broken, engine="python")
    assert again.finding is not None
    assert (again.finding.tick, again.finding.headline) == (
        result.finding.tick,
        result.finding.headline,
    )
    carried = replay(path, engine="python")  # the file has the protocol's texts
    assert carried.finding is not None and carried.finding.tick == result.finding.tick
    save_leg(replace(result.leg, texts=None), path)
    with pytest.raises(ReplayError, match="lies neither below"):
        replay(path, engine="python")


def test_a_page_that_cannot_be_written_is_named(mi: LoadedProtocol, tmp_path: Path) -> None:
    page = tmp_path / "no" / "page.html"
    with pytest.raises(ReplayError, match=r"page.html: cannot be written: No such file"):
        draw(generate(mi, 2, 3), page, mi)


def test_an_edited_program_is_derived_and_run(mi: LoadedProtocol) -> None:
    leg = generate(mi, 40, 3, leg_episodes=20)
    half = leg.program.keep_episodes(np.arange(20) < 10)
    assert replay(replace(leg, program=half), engine="python").totals.episodes == 10
    wrong = replace(half, action_size=np.full_like(half.action_size, 200))
    with pytest.raises(ReplayError, match="leg: its program is malformed"):
        replay(replace(leg, program=wrong), mi, engine="python")


class Count(Watcher):
    """Counts calls; fails at the chosen one."""

    def __init__(self, at: int = -1, at_end: bool = False) -> None:
        self.at, self.at_end = at, at_end
        self.starts = self.ends = 0

    def on_start(self, system: System) -> None:
        self.starts += 1
        self.transitions = self.issues = self.loads = 0
        self.lanes_open = 0

    def on_transition(
        self,
        controller: Controller,
        event: str,
        state: str,
        next_state: str,
        address: int,
        tick: int,
    ) -> None:
        assert event in controller.EVENTS.members() and tick == controller.engine.now
        assert {state, next_state} <= set(controller.STATES.members())
        self.transitions += 1
        if self.transitions == self.at:
            self.fail("that is one too many", address)

    def on_issue(self, request: Request, tick: int) -> None:
        self.issues += 1
        self.lanes_open += len(request.addresses) or 1

    def on_response(
        self, request: Request, indices: list[int], values: list[int], tick: int
    ) -> None:
        self.lanes_open -= len(indices) or 1
        if request.kind == AccessKind.LOAD:
            self.loads += 1
            if request.expected:
                assert values == [request.expected[i] for i in indices]

    def on_end(self, system: System) -> None:
        self.ends += 1
        assert self.lanes_open == 0, "every lane is answered once"
        if self.at_end:
            self.fail("nothing is ever right")


def test_a_watcher_is_called_for_everything_and_changes_nothing(mi: LoadedProtocol) -> None:
    watcher = Count()
    result = run(mi, 60, 3, watchers=[watcher], leg_episodes=30)
    assert (watcher.starts, watcher.ends) == (2, 2)
    assert watcher.issues > 60 and watcher.loads > 0
    plain = run(mi, 60, 3, engine="python", leg_episodes=30)
    assert (result.totals, result.coverage) == (plain.totals, plain.coverage)
    assert watcher.transitions < result.coverage.transitions


def test_what_a_watcher_finds_is_a_finding_with_a_history(mi: LoadedProtocol) -> None:
    watcher = Count(at=200)
    result = run(mi, 60, 3, watchers=[watcher])
    assert result.finding is not None
    assert result.finding.verdict is Verdict.FAILED_CHECK
    assert result.finding.address >= 0
    report = result.report()
    assert "BUG: failed-check" in report and "that is one too many" in report
    assert watcher.starts == 2, "the report ran the leg again, and the check with it"
    assert "did not fail alike" not in report


def test_a_watcher_may_judge_the_end(mi: LoadedProtocol) -> None:
    result = run(mi, 60, 3, watchers=[Count(at_end=True)])
    assert result.finding is not None
    assert result.finding.headline == "nothing is ever right"
    assert result.totals.legs == 1


def test_replays_are_watched_too(mi: LoadedProtocol, tmp_path: Path) -> None:
    path = tmp_path / "one.leg"
    save_leg(generate(mi, 30, 3), path)
    assert load_leg(path).program.episodes == 30
    watcher = Count()
    assert replay(path, watchers=[watcher]).passed
    assert watcher.ends == 1
