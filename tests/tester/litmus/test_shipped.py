"""What is shipped passes on the shipped protocols, and shows bugs that are planted there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from protocols import shipped
from runtime.description.inference import complete
from slicc.scenario_text.conditions import Model
from slicc.scenario_text.parser import read_scenario
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON
from tester.litmus.binding import bind, cast_of
from tester.litmus.series import LitmusSeries, run_series
from tester.litmus.shipped import FOLDER, scenario_files, shipped_folder, shipped_for
from tester.program.verifier import verify
from tests.compiling import compiler
from tests.planted.bugs import BY_NAME
from tests.planted.run import load_planted
from tests.sampling import sampled
from tests.tester.scenarios import native_engine, protocol

RUNS = 4
SEEN_BY = {
    "msi-line-of-the-owner-is-not-kept": ("3LB", "SB"),
    "msi-upgrade-is-not-refreshed": ("CAS", "ADD"),
}
"""Planted bugs that break coherence, and litmus tests that end with what SC forbids."""


def files_for(name: str) -> list[Path]:
    return shipped_for(name, cast_of(protocol(name), protocol(name).description))


@cache
def everything() -> list[Path]:
    return sorted(shipped_folder("").rglob("*.litmus"))


def series(file: Path, name: str, runs: int, model: Model = Model.sc) -> LitmusSeries:
    made = bind(read_scenario(file), protocol(name, True))
    engine = native_engine(name)
    campaign = Campaign(protocol(name, True), Options(1, 1), engine)
    return run_series(made, engine, campaign, runs, 1, model)


def test_every_file_is_for_some_protocol() -> None:
    found = {file for name in shipped() for file in files_for(name)}
    assert found == set(everything())
    assert len(found) > 50


@pytest.mark.parametrize("name", sampled(shipped(), 2))
def test_the_shipped_scenarios_pass(name: str) -> None:
    """A third of them; another one for each protocol."""
    compiler()
    for file in files_for(name)[list(shipped()).index(name) % 3 :: 3]:
        result = series(file, name, RUNS)
        assert result.failed is None, (file, result.failed)
        assert result.runs == RUNS
        if result.judge is None:
            assert verify(result.bound.leg(1)[0].program) == []


def test_scenarios_of_wavefronts_need_no_description_that_has_two() -> None:
    """An inferred system has one on each unit."""
    loaded = protocol("GPU_VIPER")
    written = loaded.written.override({"agents.gpu.wavefronts": 1})
    alone = replace(loaded, written=written, description=complete(written, loaded.info))
    files = scenario_files(shipped_folder("wavefronts"))
    assert len(files) == 6
    for file in files:
        assert bind(read_scenario(file), alone).leg(1)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(shipped()))
def test_the_shipped_scenarios_pass_many_times(name: str) -> None:
    """By both models of the ports; one without conditions is judged byte by byte, by none."""
    for file in files_for(name):
        racy = read_scenario(file).racy
        for model in (Model.sc, Model.tso) if racy else (Model.sc,):
            result = series(file, name, 300, model)
            assert result.failed is None, (file, result.failed)


@pytest.mark.parametrize("bug", list(SEEN_BY))
def test_a_planted_bug_ends_with_what_is_forbidden(bug: str, tmp_path: Path) -> None:
    loaded = load_planted(BY_NAME[bug], tmp_path)
    for test in SEEN_BY[bug]:
        made = bind(read_scenario(shipped_folder("litmus") / f"{test}.litmus"), loaded)
        campaign = Campaign(loaded, Options(1, 1), PYTHON)
        result = run_series(made, PYTHON, campaign, 8, 1, Model.sc)
        wrong = [seen for seen in result.seen.values() if seen.objections]
        assert wrong, test
        assert all("forbidden by sc" in seen.objections for seen in wrong)
        assert result.failed is not None and "forbidden by sc" in result.failed.what


def test_files_are_found_where_they_are_installed() -> None:
    assert shipped_folder("litmus").parent.name == FOLDER
    assert scenario_files(shipped_folder("no such folder")) == []
