"""Readers behind caches of their own: plain loads, handed over by the acquire that empties them."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.requesters.sequencer import Sequencer
from runtime.system.builder import build_system
from runtime.types.messages import RubyRequestType
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.execution.events import Verdict
from tester.profiles import machine_roles
from tester.program.program import FETCH, LOAD, Program
from tester.program.replay_file import Leg

FIXED = {"scalars": 2, "fetchers": 0, "dmas": 0, "fetch_waves": 2, "units": 2}


@pytest.fixture(scope="module")
def viper() -> LoadedProtocol:
    return load_protocol("GPU_VIPER")


def planned(viper: LoadedProtocol, seed: int, **assignments: object) -> Leg:
    options = Options(seed, 200, "system", FIXED, assignments=assignments, leg_episodes=200)
    return Campaign(viper, options).plan(0).leg


def rows_of(program: Program, agents: list[int]) -> np.ndarray:
    return np.flatnonzero(np.isin(program.episode_thread[program.action_episode()], agents))


def test_their_machines_are_told_from_instruction_caches(viper: LoadedProtocol) -> None:
    found = machine_roles.find_roles(viper.info, viper.description)
    assert (found.fetchers, found.scalars) == (("SQC",), ("Scalar",))
    assert viper.description.machines["Scalar"].count == 0
    assert machine_roles.agent_kinds(viper.description)["scalars"] == FETCH


def test_they_load_without_fetching_and_acquire(viper: LoadedProtocol) -> None:
    leg = planned(viper, 3)
    program = leg.program
    assert leg.description.machines["Scalar"].count == 2
    readers = [n for n, agent in enumerate(program.agents) if agent.kind == FETCH]
    assert len(readers) == 4
    assert len({program.agents[n].requester for n in readers}) == 2
    rows = rows_of(program, readers)
    assert len(rows) and (program.action_kind[rows] == LOAD).all()
    system = build_system(viper.info, leg.description, leg.run_key)
    assert leg_run(leg, system).run().finding is None
    for place in {program.agents[n].requester for n in readers}:
        requester = system.requesters[place]
        assert isinstance(requester, Sequencer)
        assert requester.walks and requester._read_type == RubyRequestType.LD


@pytest.mark.parametrize("seed", range(3))
def test_without_the_walk_old_copies_are_found(viper: LoadedProtocol, seed: int) -> None:
    leg = planned(viper, seed, **{"requester.scalars.walk": False})
    system = build_system(viper.info, leg.description, leg.run_key)
    finding = leg_run(leg, system).run().finding
    assert finding is not None
    assert finding.verdict in (Verdict.WRONG_VALUE, Verdict.STALE_READ)
    assert finding.request is not None
    assert leg.program.agents[finding.request.agent].kind == FETCH
