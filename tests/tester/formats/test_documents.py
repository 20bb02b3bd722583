"""``gpu-tester run --format``: one run of a broken protocol, and of a good one, in every format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tester.cli.main import app
from tester.cli.options.run import RunOptions
from tester.cli.session import Session
from tester.cli.verbs import run as verb
from tester.execution.events import Verdict
from tester.formats.documents import _VERDICTS, document
from tester.formats.formats import ResultFormat
from tester.formats.run_record import RunEnd
from tests.planted.bugs import BY_NAME
from tests.slicc.text.results.junit_structure import check_junit
from tests.slicc.text.results.sarif_structure import check_sarif

BUG = BY_NAME["mi-owner-not-changed"]
LATER = BY_NAME["mi-does-not-wait-for-the-refusal"]
"""The first leg passes."""
RUN = ("--episodes", "60", "--leg-episodes", "12", "--seed", "1", "--engine", "python")


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Below the working directory, as in a checkout."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a ,::folder").mkdir()
    return BUG.plant(tmp_path / "a ,::folder").relative_to(tmp_path)


def gpu_tester(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def failing(broken: Path, format: str, *more: str) -> tuple[str, str]:
    status, text, log = gpu_tester("run", "-p", broken, *RUN, "--format", format, *more)
    assert status == 1, log
    return text, log


def test_sarif_and_json_name_the_line_of_the_blamed_transition(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one run that is shrunk: the document that is printed, and the other one."""
    ends: list[RunEnd] = []

    def kept(format: ResultFormat, end: RunEnd) -> str:
        ends.append(end)
        return document(format, end)

    monkeypatch.setattr("tester.formats.documents.document", kept)
    text, log = failing(broken, "sarif")
    sarif = json.loads(text)
    check_sarif(sarif)
    (run,) = sarif["runs"]
    (result,) = run["results"]
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][0]["id"] == "undefined-transition"
    blamed = re.search(r"^ *1\. (\S+) \[(\S+\.sm):(\d+)\]", log, re.M)
    assert blamed is not None, log
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == f"a%20%2C%3A%3Afolder/{blamed[2]}"
    assert physical["region"] == {"startLine": int(blamed[3])}
    assert blamed[1] in result["message"]["text"]
    assert blamed[1] in result["partialFingerprints"]["identity/v1"]
    check_json(json.loads(document(ResultFormat.json, ends[0])), log, blamed)


def test_github_has_one_command_and_a_log_without_any(broken: Path) -> None:
    text, log = failing(broken, "github", "--no-shrink", "--output", str(broken.parent))
    (line,) = text.splitlines()
    assert line.startswith("::error file=a %2C%3A%3Afolder/MI-cache.sm,line=")
    assert ",title=undefined-transition::" in line and "%0Arun it again: gpu-tester replay " in line
    assert "FAILED: " in log and "a ,: :folder" in log
    assert "::" not in log


def test_junit_has_a_case_for_each_profile(broken: Path) -> None:
    later = LATER.plant(broken.parent)
    text, log = failing(later, "junit", "--no-shrink")
    suite = check_junit(text)[0]
    profiles = set(re.findall(r"^leg +\d+  (\S+)", log, re.M))
    assert len(profiles) > 1
    assert {case.attrib["name"] for case in suite.iter("testcase")} == profiles
    (failure,) = suite.iter("failure")
    assert failure.attrib["type"] == "undefined-transition"
    assert failure.text is not None and "gpu-tester replay" in failure.text
    values = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert values["seed"] == "1"


def check_json(run: dict[str, Any], log: str, blamed: re.Match[str]) -> None:
    """It has failures with their files."""
    assert (run["schema"], run["status"], run["verdict"]) == ("gpu-tester.run/1", 1, "FAILED")
    (failure,) = run["failures"]
    assert failure["place"]["file"] == f"a ,::folder/{blamed[2]}"
    assert failure["files"].keys() == {"leg", "least", "page"}
    assert all(Path(file).is_file() for file in failure["files"].values())
    assert failure["report"].strip() in log
    assert sum(each["legs"] for each in run["profiles"].values()) == run["totals"]["legs"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_passes_has_no_findings(jobs: str) -> None:
    few = ("--episodes", "60", "--leg-episodes", "30", "--seed", "1", "--engine", "python")
    status, text, log = gpu_tester("MI", *few, "--format", "json", "--jobs", jobs)
    run = json.loads(text)
    assert (status, run["status"], run["verdict"], run["failures"]) == (0, 0, "PASSED", [])
    legs = re.findall(r"^leg +\d+  (\S+)", log, re.M)
    assert {name: each["legs"] for name, each in run["profiles"].items()} == {
        name: legs.count(name) for name in legs
    }
    assert run["totals"]["episodes"] == 60


def test_several_failures_of_a_profile_are_one_case(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "look_behind", lambda _: False)
    text, _ = failing(broken, "junit", "--no-shrink", "--go-on", "--profile", "line-duel")
    (case,) = check_junit(text).iter("testcase")
    (failure,) = case
    assert failure.text is not None
    assert re.search(r"^\d+ of \d+ legs passed\n\d+ x undefined-transition ", failure.text, re.M)


def test_an_ended_run_is_an_error_and_not_a_failure(broken: Path) -> None:
    end = verb._run(RunOptions(protocol="MI", episodes=10, seed=1, quiet=True))
    cut = replace(end, status=130, word="INTERRUPTED")
    suite = check_junit(document(ResultFormat.junit, cut))[0]
    assert (suite.attrib["errors"], suite.attrib["failures"]) == ("1", "0")
    sarif = json.loads(document(ResultFormat.sarif, cut))
    check_sarif(sarif)
    assert sarif["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_every_verdict_is_a_rule() -> None:
    assert _VERDICTS.keys() == {*Verdict}


@pytest.mark.parametrize("format", ["junit", "sarif", "github", "json"])
def test_a_run_that_cannot_begin_has_a_document(format: str) -> None:
    reason = "protocol file nosuch.slicc does not exist"
    status, text, log = gpu_tester("run", "-p", "nosuch.slicc", "--format", format)
    assert (status, log) == (2, f"gpu-tester: {reason}\n")
    assert reason in text
    if format == "json":
        assert json.loads(text)["error"] == reason
    elif format == "sarif":
        check_sarif(json.loads(text))
    elif format == "junit":
        check_junit(text)
