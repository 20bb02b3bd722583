"""What a directory holds does not depend on workers, kills, signals or a full disk."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tester.blame import small_leg
from tester.campaign_directory import failures, guidance, series
from tester.campaign_directory.store import Store, StoreError
from tester.cli.verbs.campaign import campaign
from tester.errors import ConfigError
from tests.planted.bugs import BY_NAME
from tests.processes import until
from tests.tester.campaign_directory.kept import contents, legs, options, started

LEGS = 20


@pytest.fixture(scope="module", autouse=True)
def short_epochs() -> Iterator[None]:
    """So that few legs are guided as many are, and each is committed before a signal comes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("EPOCH", 8), ("LAG", 4), ("_EPOCHS", 2)):
            patch.setattr(guidance, name, value)
        patch.setattr(series, "_BATCH_SECONDS", 0.0)
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("campaigns") / "undisturbed"
    assert campaign(options(directory, guide=True)) == 0
    assert legs(directory) == LEGS
    return directory


def test_any_number_of_workers_leaves_the_same(undisturbed: Path, tmp_path: Path) -> None:
    assert campaign(options(tmp_path / "three", guide=True, jobs=3)) == 0
    assert contents(tmp_path / "three") == contents(undisturbed)


def test_without_a_guide_other_legs_are_run(undisturbed: Path, tmp_path: Path) -> None:
    assert campaign(options(tmp_path / "plain", jobs=2)) == 0
    plain, guided = contents(tmp_path / "plain")["legs"], contents(undisturbed)["legs"]
    assert plain[:8] == guided[:8] and plain[8:] != guided[8:]


def test_kills_at_any_moment_lose_nothing_that_was_committed(
    undisturbed: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "killed"
    moments = random.Random(11)
    known = kills = 0
    while known < LEGS and kills < 5:
        process = started(options(directory, guide=True, jobs=2))
        wanted = known + moments.randrange(1, 9)
        until(lambda: legs(directory) >= wanted or not process.is_alive())  # noqa: B023
        time.sleep(moments.random() / 200)
        process.kill()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
        assert legs(directory) >= known, "what was there is there"
        known = legs(directory)
    assert kills > 1
    assert campaign(options(directory, guide=True)) == 0
    assert contents(directory) == contents(undisturbed)


def test_a_signal_ends_it_and_it_resumes_without_options(undisturbed: Path, tmp_path: Path) -> None:
    directory = tmp_path / "ended"
    process = started(options(directory, guide=True))
    until(lambda: legs(directory) > 3)
    os.kill(process.pid or 0, signal.SIGTERM)
    process.join()
    assert process.exitcode == 143
    bare = options(directory, protocol=None, seed=None, leg_episodes=None, profile="default")
    assert campaign(bare) == 0
    assert contents(directory) == contents(undisturbed)


def test_a_full_disk_ends_it_in_words(
    undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files may not grow beyond a limit there, so that the log of the database does not fit."""
    directory = tmp_path / "full"
    process = started(options(directory, guide=True), 90_000)
    process.join()
    assert process.exitcode not in (0, None)
    before = legs(directory)
    assert before < LEGS
    assert campaign(options(directory, guide=True)) == 0
    assert contents(directory) == contents(undisturbed)


def test_the_words_of_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("x/campaign.sqlite: database or disk is full")

    monkeypatch.setattr(Store, "_insert", full)
    with pytest.raises(ConfigError, match=r"disk is full\n.* is kept; gpu-tester campaign .*full"):
        campaign(options(tmp_path / "full", episodes=40))


@pytest.mark.parametrize("budget", [6, pytest.param(3000, marks=pytest.mark.slow)])
def test_failures_have_causes_and_files(
    tmp_path: Path, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a leg that stays large because its search is cut nothing is to blame: then the verdict
    alone is the cause."""
    monkeypatch.setattr(failures, "SHRUNK", 2)
    monkeypatch.setattr(small_leg, "_FEW", 2)
    broken = BY_NAME["mi-victim-without-data"].plant(tmp_path)
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory, jobs in zip(directories, (1, 2)):
        given = options(
            directory,
            protocol=str(broken),
            profile="replacement",
            leg_episodes=6,
            units=2,
            episodes=24,
            jobs=jobs,
            shrink_budget=budget,
        )
        assert campaign(given) == 1
    one, two = map(contents, directories)
    assert one == two
    assert any(row[2] for row in one["failures"]) == (budget > 6), "which are blamed"
    failing = [row[-1] for row in one["legs"] if row[-1] is not None]
    assert len(failing) > len(one["failures"]) >= 1, "several legs have one cause"
    assert set(failing) == {row[0] for row in one["failures"]}
    with Store(directories[0] / "campaign.sqlite", read_only=True) as store:
        for failure in store.failures():
            assert failure.headline and failure.leg in [row[0] for row in one["legs"]]
            files = {what: directories[0] / name for what, name in failure.files.items()}
            assert files.keys() == {"leg", "shrunk", "page", "report"}
            assert all(path.is_file() for path in files.values())
            report = files["report"].read_text()
            assert failure.headline.partition(":")[0] in report and str(files["shrunk"]) in report
    names = {name for row in one["failures"] for name in row[6].split('"')[3::4]}
    assert {Path(name).name for name in names} >= {
        name for name, _ in one["files"] if "other" not in name
    }, "nothing is left of legs whose cause was known"
