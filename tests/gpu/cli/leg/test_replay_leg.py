"""Legs of the tester on compute units: they pass where its agents pass, and fail as they fail."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from gpu.cli.leg import episode_code
from gpu.cli.leg.comparison import Comparison, compare
from gpu.cli.leg.episode_code import CLOSE, OPEN, EpisodeCoder, coded
from gpu.cli.leg.leg_run import CannotRun, gpu_leg
from gpu.isa.encoding.decoder import decode_at
from gpu.memory.coherent.factory import EngineChoice
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON
from tester.program.program import FETCH
from tester.program.replay_file import Leg, save_leg
from tests.gpu.cli.calling import gcn
from tests.planted.bugs import BUGS
from tests.planted.run import load_planted


@cache
def viper() -> LoadedProtocol:
    return load_protocol("GPU_VIPER")


def campaign(protocol: LoadedProtocol, episodes: int = 300) -> Campaign:
    return Campaign(protocol, Options(1, episodes), PYTHON)


def compared(leg: Leg, protocol: LoadedProtocol) -> Comparison:
    return compare(gpu_leg(leg), protocol, EngineChoice.python)


def test_legs_that_pass() -> None:
    profiles = set()
    for plan in islice(campaign(viper()).plans(), 1, 4):
        found = compared(plan.leg, viper())
        episodes = gpu_leg(plan.leg).program.episodes
        assert (found.units.finding, found.agents) == (None, None), plan.leg.number
        assert found.units.episodes == episodes and found.units.waves >= episodes > 0
        assert found.runs == 1
        profiles.add(plan.leg.profile)
    assert len(profiles) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_25_sound_legs_pass(seed: int) -> None:
    plans = Campaign(viper(), Options(seed, 3000), PYTHON).plans()
    found = [compared(plan.leg, viper()) for plan in islice(plans, 25)]
    assert [each for each in found if each.units.finding or each.agents] == []


def planted(name: str, number: int, folder: Path, seed: int = 1) -> Comparison:
    """Leg ``number`` of the default campaign on a protocol with a bug."""
    protocol = load_planted(next(bug for bug in BUGS if bug.name == name), folder)
    plans = Campaign(protocol, Options(seed, 2000), PYTHON).plans()
    return compared(next(islice(plans, number, None)).leg, protocol)


SAMPLE = ("tcc-victim-wakes-nothing", 0)
SEEN = (
    SAMPLE,
    ("tcp-store-without-mask", 0),
    ("tcp-acquire-keeps-the-line", 1),
    ("tcp-atomic-keeps-the-line", 0),
    ("tcp-hit-store-not-written", 0),
    ("tcp-bypass-store-leaves-old-line", 3),
    ("tcp-leaves-a-transaction", 0),
    ("tcp-forgets-a-late-completion", 0),
    ("tcc-written-through-store-not-here", 1),
    ("tcc-fill-overwrites-passing-store", 1),
    ("tcc-store-loses-its-upper-half", 0),
    ("tcc-serves-dirty-bytes-as-a-line", 0),
    ("tcc-fill-buries-dirty-bytes", 0),
    ("tcc-merges-the-wrong-way", 0),
    ("tcc-second-store-stays-clean", 0),
    ("tcc-bypass-wakes-nothing", 1),
    ("tcc-clean-line-completes-no-store", 0),
    ("tcc-system-store-completes-nothing", 3),
    ("tcc-drops-a-waiting-request", 1),
    ("tcc-leaves-the-transaction-of-an-atomic", 0),
    ("tcc-atomic-result-not-sent-on", 0),
    ("tcc-performs-before-it-passes-on", 0),
)
"""Planted bugs, and the leg of seed 1 that shows each to agents and units alike."""


def test_a_planted_bug(tmp_path: Path) -> None:
    found = planted(*SAMPLE, tmp_path)
    assert found.agents is not None and found.same


@pytest.mark.planted
@pytest.mark.parametrize(("name", "number"), SEEN)
def test_every_planted_bug_that_units_see(name: str, number: int, tmp_path: Path) -> None:
    found = planted(name, number, tmp_path)
    assert found.agents is not None and found.same


def test_bytes_are_read_again_through_caches(tmp_path: Path) -> None:
    """A copy that no episode sees any more is one that another unit still reads."""
    found = planted("tcp-acquire-keeps-the-line", 5, tmp_path, seed=43)
    assert found.same and found.runs == 1
    assert found.units.finding is not None
    assert found.units.finding.headline.startswith("read-back by gpu2.0, episode 2, lane 1: ")


def test_units_run_at_other_paces_until_they_fail_alike(tmp_path: Path) -> None:
    found = planted("tcc-fill-overwrites-passing-store", 8, tmp_path, seed=49)
    assert found.same and found.units.finding is not None
    assert (found.pace, found.runs) == (100, 4)


def test_units_may_fail_alone(tmp_path: Path) -> None:
    found = planted("tcc-system-store-completes-nothing", 2, tmp_path, seed=43)
    assert found.agents is None and found.units.finding is not None
    assert found.runs == 1 and not found.same


# ------------------------------------------------------------------ code


def mnemonics(code: bytes) -> list[str]:
    names, place = [], 0
    while place < len(code):
        instruction = decode_at(code, place)
        names.append(instruction.name)
        place += instruction.size
    return names


def test_every_access_is_in_the_code_once() -> None:
    """Counted in what the decoder makes of the code."""
    program = gpu_leg(next(islice(campaign(viper()).plans(), 14, None)).leg).program
    waves = list(coded(EpisodeCoder(program, 1 << 33), range(program.episodes)))
    accesses = 0
    for wave in waves:
        assert len(wave.registers) <= 256
        names = mnemonics(wave.code)
        assert names[-2:] == ["s_trap", "s_endpgm"] and names.count("buffer_wbinvl1_vol") <= 1
        accesses += sum(name.startswith("flat_") for name in names)
    adds = 2 * int(program.adds().sum())
    assert accesses == program.actions + adds
    rows = [result.row for wave in waves for result in wave.results if result.row >= 0]
    assert len(set(rows)) == len(rows)
    assert {OPEN, CLOSE} < {result.row for wave in waves for result in wave.results}


def test_an_episode_of_many_accesses_is_several_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episode_code, "REGISTERS", 20)
    leg = next(islice(campaign(viper()).plans(), 13, None)).leg
    outcome = compared(leg, viper()).units
    assert outcome.finding is None and outcome.waves > 2 * outcome.episodes > 0


# ------------------------------------------------------------------ the command


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("legs") / "leg7.leg"
    save_leg(next(islice(campaign(viper()).plans(), 7, None)).leg, path)
    return path


def test_the_command(file: Path) -> None:
    run = gcn("replay", str(file), "--engine", "python")
    assert run.status == 0, run.err
    assert "leg 7 of seed 1 of GPU_VIPER, 10 episodes of GPU threads as 10 waves" in run.out
    assert "25 episodes of other agents are left out" in run.out
    assert "compute units: all values are as expected" in run.out
    assert "agents, on the same episodes: all values are as expected" in run.out


def test_a_broken_protocol_is_found(file: Path, tmp_path: Path) -> None:
    bug = next(bug for bug in BUGS if bug.name == "tcp-store-without-mask")
    protocol = load_planted(bug, tmp_path)
    leg = next(campaign(protocol, 2000).plans()).leg
    save_leg(leg, tmp_path / "found.leg")
    run = gcn("replay", str(tmp_path / "found.leg"), "--engine", "python", "-I", str(tmp_path))
    assert run.status == 1 and "compute units: wrong-value: agent gpu" in run.out
    assert "the tester's agents, on the same episodes: " in run.out


@pytest.mark.parametrize("option", [("--seed", "3"), ("--tccs", "2")])
def test_options_of_recordings(file: Path, option: tuple[str, str]) -> None:
    run = gcn("replay", str(file), *option)
    assert run.status == 2 and "a leg has a seed and a system" in run.err


def test_a_damaged_leg(file: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.leg"
    damaged.write_bytes(file.read_bytes()[:-40])
    run = gcn("replay", str(damaged))
    assert run.status == 2 and "damaged.leg: " in run.err and "Traceback" not in run.err


def test_a_leg_without_gpu_threads() -> None:
    leg = next(islice(campaign(viper()).plans(), 3, None)).leg
    others = np.array([agent.kind == FETCH for agent in leg.program.agents])
    with pytest.raises(CannotRun, match="no episode of the leg is one of a GPU thread"):
        gpu_leg(replace(leg, program=leg.program.keep_agents(others)))
