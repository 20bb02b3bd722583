"""``slicc check --format``: what stdout and stderr hold in each format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.slicc.cli.test_cli import DRIVER, Done, slicc
from tests.slicc.text.results.junit_structure import check_junit
from tests.slicc.text.results.sarif_structure import check_sarif

MISSPELT = "j_freFrame"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A protocol with an error and a warning, below the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my protocol"
    folder.mkdir()
    for file in DRIVER.parent.glob("MI*"):
        shutil.copy(file, folder)
    cache = folder / "MI-cache.sm"
    text = cache.read_text().replace("    j_freeFrame;", f"    {MISSPELT};", 1)
    cache.write_text(text)
    messages = folder / "MI-msg.sm"
    messages.write_text(messages.read_text() + '\nstructure(A, desk="x") { int a; }\n')
    return folder / "MI.slicc"


def line_of(file: Path, text: str) -> int:
    return file.read_text()[: file.read_text().index(text)].count("\n") + 1


def check(driver: Path, format: str, *more: str) -> Done:
    return slicc("check", str(driver.relative_to(Path.cwd())), "--format", format, *more)


def test_sarif_has_each_finding_at_its_place(broken: Path) -> None:
    done = check(broken, "sarif")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    check_sarif(document)
    (run,) = document["runs"]
    results = {each["ruleId"]: each for each in run["results"]}
    assert (results["unknown-action"]["level"], results["unknown-pair-key"]["level"]) == (
        "error",
        "warning",
    )
    place = results["unknown-action"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20protocol/MI-cache.sm"
    line = line_of(broken.parent / "MI-cache.sm", MISSPELT)
    start, length = 5, len(MISSPELT)
    assert place["region"] == {
        "startLine": line,
        "startColumn": start,
        "endLine": line,
        "endColumn": start + length,
    }
    assert "did you mean" in results["unknown-action"]["message"]["text"]
    pages = {rule["id"]: rule["help"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert "Use instead" in pages["unknown-action"]
    assert "error[unknown-action]" in done.stderr, "people read the log"


def test_github_has_an_annotation_for_each_finding(broken: Path) -> None:
    done = check(broken, "github")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    line = line_of(broken.parent / "MI-cache.sm", MISSPELT)
    assert lines[0].startswith("::warning file=my protocol/MI-msg.sm,line=")
    assert "title=unknown-pair-key::" in lines[0]
    assert lines[1].startswith(f"::error file=my protocol/MI-cache.sm,line={line},")
    assert len(lines) == 2
    assert done.stderr == "slicc: 1 error, 1 warning (see `slicc explain unknown-action`)\n"


@pytest.mark.parametrize("strict", [False, True])
def test_junit_has_a_case_for_each_finding(broken: Path, strict: bool) -> None:
    done = check(broken, "junit", *(["-Werror"] if strict else []))
    root = check_junit(done.stdout)
    failing = [each.attrib["type"] for each in root.iter("failure")]
    assert failing == [*(["unknown-pair-key"] if strict else []), "unknown-action"]
    (failure, *_) = (
        each for each in root.iter("failure") if each.attrib["type"] != "unknown-pair-key"
    )
    assert failure.text is not None and MISSPELT in failure.text


def test_junit_of_a_good_protocol_passes() -> None:
    done = slicc("check", "MI", "--format", "junit", "--no-analysis")
    (case,) = check_junit(done.stdout).iter("testcase")
    assert len(case) == 0 and case.attrib["name"].endswith("MI.slicc")
    assert done.returncode == 0 and "3 machines" in done.stderr


def test_other_verbs_have_text_and_json(broken: Path) -> None:
    done = slicc("ir", "MI", "--format", "sarif")
    assert done.returncode == 2 and "text, json are possible" in done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("nosuch.slicc",), "cannot read nosuch.slicc: No such file or directory"),
        (("nosuch",), "there is no file nosuch, and no shipped protocol of that name"),
        (("MI", "--include", "nosuch"), "cannot read from nosuch: it is not a directory"),
        (("MI", "--system", "nosuch"), "nosuch: cannot be read: No such file or directory"),
    ],
)
def test_a_missing_input_is_said_in_the_document(words: tuple[str, ...], reason: str) -> None:
    """Of the one that a job collects, and that its log alone would not explain."""
    done = {
        format: slicc("check", *words, "--format", format)
        for format in ("junit", "sarif", "github", "json", "text")
    }
    assert {each.returncode for each in done.values()} == {2}
    (error,) = check_junit(done["junit"].stdout).iter("error")
    assert reason in error.attrib["message"]
    document = json.loads(done["sarif"].stdout)
    check_sarif(document)
    (invocation,) = document["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert reason in notification["message"]["text"]
    assert done["github"].stdout.startswith(f"::error title=input-error::{reason}")
    assert reason in json.loads(done["json"].stderr)["error"], "the document is all of stderr"
    assert done["text"].stdout == ""
    for format in ("junit", "sarif", "github", "text"):
        assert reason in done[format].stderr
