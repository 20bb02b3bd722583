"""`--go-on`: one old fault does not hide the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tester.cli.options.run import RunOptions
from tester.cli.session import Session
from tester.cli.verbs.run import run
from tester.engines.choice import Choice
from tests.planted.bug import plant_together
from tests.planted.bugs import BY_NAME
from tests.sampling import sampled


def going_on(main: Path, output: Path, episodes: int, **more: Any) -> RunOptions:
    """Of a run that goes on after failures."""
    given = {"seed": 2, "leg_episodes": 20, "no_shrink": True, **more}
    return RunOptions(protocol=str(main), output=output, episodes=episodes, go_on=True, **given)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MI with a fault of DMA engines, which most legs meet and which hides one of caches."""
    bugs = [BY_NAME["mi-dma-read-leaves-a-transaction"], BY_NAME["mi-late-putx-not-expected"]]
    main, left = plant_together(bugs, tmp_path_factory.mktemp("broken"))
    assert not left
    return main


@pytest.mark.parametrize("shrinks", sampled([False, True], 2))
def test_every_kind_is_reported_once(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], shrinks: bool
) -> None:
    assert run(going_on(broken, tmp_path, 120, no_shrink=not shrinks)) == 1
    output = capsys.readouterr().out
    table = output.partition("different failures\n")[2]
    rows = re.findall(r"^ +(\d+) x (\S.*?) +first in leg (\d+) \((\S+)\): (.*)$", table, re.M)
    kinds = [kind for _, kind, *_ in rows]
    assert len(kinds) == len(set(kinds)) >= 2
    assert any(kind.startswith("undefined-transition Directory.") for kind in kinds)
    assert max(int(times) for times, *_ in rows) > 1
    assert output.count("\nBUG: ") == len(rows)
    assert all(Path(file).is_file() for *_, file in rows)
    legs = {path.name for path in tmp_path.glob("*.leg")}
    small = {name for name in legs if ".min" in name}
    assert len(legs - small) == len(rows), "one for each kind"
    assert ({f"{Path(file).stem}.min.leg" for *_, file in rows} <= small) == shrinks
    assert output.count("nothing can be removed: tried") == shrinks * len(rows)
    failed = sum(int(times) for times, *_ in rows)
    assert output.count("  FAILED\n") == failed
    assert "FAILED: " in output


def test_a_protocol_that_fails_at_once_comes_to_an_end(tmp_path: Path) -> None:
    """Legs that complete nothing use up the episodes that they were drawn with."""
    broken = BY_NAME["mi-two-owners"].plant(tmp_path)
    assert run(going_on(broken, tmp_path, 12, leg_episodes=None, engine=Choice.python)) == 1


def test_the_time_limit_ends_the_look_behind(
    broken: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The time is over as soon as the search for what can be left out begins."""
    look_behind = Session.look_behind

    def late(session: Session) -> bool:
        session.max_seconds = 0.0
        return look_behind(session)

    monkeypatch.setattr(Session, "look_behind", late)
    assert run(going_on(broken, tmp_path, 120, max_seconds=1000)) == 1
    output = capsys.readouterr().out
    assert "stopped after 1000 seconds, as asked; what is behind these failures was not" in output
    assert "\nbehind these failures, without" not in output


def test_where_nothing_fails_it_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for go_on in (False, True):
        assert run(RunOptions(protocol="MI", episodes=60, seed=1, go_on=go_on)) == 0
        outputs.append(re.sub(r"\n[\d.]+ s: .*", "", capsys.readouterr().out))
    assert outputs[0] == outputs[1]


def test_what_makes_legs_fail_is_left_out_behind_them(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then the fault behind them is found; the same for any --jobs."""
    outputs = []
    for jobs in (1, 2):
        output = tmp_path / str(jobs)
        assert run(going_on(broken, output, 120, jobs=jobs)) == 1
        text = capsys.readouterr().out.replace(str(output), "OUT")
        outputs.append(re.sub(r"\n[\d.]+ s: .*", "", text))
    assert outputs[0] == outputs[1]
    first, second = outputs[0].split("behind these failures, without loads by dma\n")
    assert "PUTX_NotOwner" not in first
    assert "PUTX_NotOwner" in second
    (episodes,) = re.findall(r"^FAILED: ([\d,]+) episodes", second, re.M)
    assert int(episodes) > 120, "both campaigns count"
    for file in re.findall(r"OUT/(\S+\.leg)$", second, re.M):
        assert (tmp_path / "1" / file).exists()


def test_a_failing_leg_is_run_again_without_what_makes_it_fail(
    broken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What hides behind legs that fail, although no campaign without anything is run."""
    monkeypatch.setattr("tester.campaign.left_out.ROUNDS", 1)
    assert run(going_on(broken, tmp_path, 200, seed=43, leg_episodes=None)) == 1
    first, alone = capsys.readouterr().out.split(
        "behind the failure of leg 3, without loads by dma\n"
    )
    assert "PUTX_NotOwner" not in first
    assert "PUTX_NotOwner" in alone.partition("different failures")[0]
    assert list(tmp_path.glob("*-alone1-leg3.leg"))
