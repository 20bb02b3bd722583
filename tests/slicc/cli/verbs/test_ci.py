"""``slicc ci``: the files that it writes, and their steps, run as a shell of the service would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.slicc.cli.test_cli import slicc as command
from tests.slicc.text.results.junit_structure import check_junit

COMMIT = "0badcafe" * 5
INSTALL = 'python -m pip install "$SLICC"'
SERVICES = ("github", "gitlab")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(service: str) -> dict[Any, Any]:
    """What the service reads of a new protocol's file."""
    done = command("new", "My_1", "--ci", service)
    assert done.returncode == 0, done.stderr
    document = yaml.safe_load(Path(done.stdout.splitlines()[-1]).read_text())
    assert isinstance(document, dict)
    return document


def evaluated(text: str, repository: Path) -> str:
    """GitHub's expressions, as far as the file has them in what shells read."""
    text = re.sub(r"\$\{\{ inputs\.\w+ \|\| '([^']*)' \}\}", r"\1", text)
    text = text.replace("${{ github.workspace }}", str(repository))
    assert "${{" not in text
    return text


def shell(steps: list[str], variables: Mapping[str, str], cwd: Path) -> list[str]:
    """Run steps, but for the first, which installs; what each printed on stdout."""
    assert steps[0] == INSTALL
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Compiling natively takes longer than all the rest. A leg is to be completed on a busy machine.
    quick = {"BUDGET_SECONDS": "5", "NIGHT_HOURS": "0.0015", "CXX": "false"}
    environment = {"HOME": os.environ["HOME"], **variables, "PATH": path, **quick}
    environment.pop("XDG_CACHE_HOME", None)  # what this machine has compiled will do
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    printed = []
    for step in steps[1:]:
        done = subprocess.run(
            [*script, step], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout + done.stderr)
    return printed


def github(job: str, repository: Path) -> tuple[list[str], dict[str, str]]:
    """Commands and variables of a job. The cache is in the workspace, which the key is for."""
    document = written("github")
    assert document[True].keys() >= {"push", "pull_request", "schedule", "workflow_call"}  # "on"
    assert document["permissions"] == {"contents": "read"}
    steps = document["jobs"][job]["steps"]
    variables = {name: evaluated(text, repository) for name, text in document["env"].items()}
    assert variables["XDG_CACHE_HOME"] == f"{repository}/.cache"
    caches = [step["with"]["path"] for step in steps if "cache" in step.get("uses", "")]
    assert ".cache/slicc" in caches and (job == "test" or caches.count("campaign") == 2)
    commands = [evaluated(step["run"], repository) for step in steps if "run" in step]
    return commands, {**variables, "GITHUB_SHA": COMMIT}


def gitlab(job: str, repository: Path) -> tuple[list[str], dict[str, str]]:
    document = written("gitlab")
    base, entry = document[".My_1"], document[f"My_1 {job}"]
    assert entry["extends"] == ".My_1"
    variables = {name: os.path.expandvars(text) for name, text in base["variables"].items()}
    # A runner puts the lines of a script into one shell.
    first, *rest = entry["script"]
    return [first, "\n".join(rest)], {**variables, "CI_COMMIT_SHA": COMMIT}


@pytest.mark.parametrize("service", ["github", pytest.param("gitlab", marks=pytest.mark.slow)])
def test_its_steps_check_and_test_a_new_protocol(service: str, repository: Path) -> None:
    steps, variables = {"github": github, "gitlab": gitlab}[service]("test", repository)
    text = "".join(shell(steps, variables, repository))
    assert variables["PROTOCOL"] == "My_1/My_1.slicc"
    assert f"seed {0x0BADCAFE}" in text and "stopped after 5 seconds, as asked" in text
    assert "PASSED: " in text
    if service == "gitlab":
        for name in ("check.xml", "test.xml"):
            assert not list(check_junit((repository / name).read_text()).iter("failure"))


@pytest.mark.slow
def test_a_failure_ends_the_job_with_its_files(repository: Path) -> None:
    steps, variables = github("test", repository)
    cache = repository / "My_1" / "My_1-cache.sm"
    broken = re.sub(r"(transition\(\w+, \w+, )\w+(\) \{)", r"\1I\2", cache.read_text(), count=1)
    assert broken != cache.read_text()
    cache.write_text(broken)
    with pytest.raises(
        AssertionError, match=r"(?s)gpu-tester run.*::error file=My_1/My_1-\w+\.sm,"
    ):
        shell([steps[0], steps[2]], variables, repository)
    assert {file.suffix for file in (repository / "failures").iterdir()} == {".leg", ".html"}


@pytest.mark.slow
@pytest.mark.parametrize("service", SERVICES)
def test_a_night_continues_until_the_protocol_changes(service: str, repository: Path) -> None:
    steps, variables = {"github": github, "gitlab": gitlab}[service]("night", repository)
    for _ in range(2):
        shell(steps, variables, repository)
        (first,) = (repository / "campaign").iterdir()
    cache = repository / "My_1" / "My_1-cache.sm"
    cache.write_text(cache.read_text() + "\n// changed\n")
    shell(steps, variables, repository)
    (second,) = (repository / "campaign").iterdir()
    assert first != second


# ------------------------------------------------------------------ where, and what is refused


def test_the_file_goes_where_the_service_looks(repository: Path) -> None:
    (repository / "below").mkdir()
    os.chdir("below")
    command("new", "ab")
    driver = Path("ab/ab.slicc").rename("ab/a b.slicc")
    done = command("ci", "github", driver)
    path = repository / ".github" / "workflows" / "slicc-a-b.yml"
    assert done.stdout == f"{path}\n"
    assert "PROTOCOL: ${{ inputs.protocol || 'below/ab/a b.slicc' }}" in path.read_text()
    assert "@" not in re.sub(r"uses: \S+", "", path.read_text())
    done = command("ci", "gitlab", "MI", "-o", "mine.yml")
    assert yaml.safe_load(Path("mine.yml").read_text())[".MI"]["variables"]["PROTOCOL"] == "MI"


@pytest.mark.parametrize(
    "name", ["a'b.slicc", 'a"b.slicc', "a${{ x }}.slicc", "a$HOME.slicc", "a\nb.slicc", "-a.slicc"]
)
def test_names_that_mean_something_are_refused(name: str, repository: Path) -> None:
    (repository / name).touch()
    done = command("ci", "github", f"./{name}")
    assert done.returncode == 2 and "cannot stand in a workflow" in done.stderr
    assert not (repository / ".github").exists()


def test_nothing_is_overwritten_or_half_written(repository: Path) -> None:
    Path(".gitlab-ci.yml").write_text("mine")
    done = command("new", "My_1", "--ci", "gitlab")
    assert done.returncode == 2 and "for .gitlab-ci.yml to include" in done.stderr
    assert Path(".gitlab-ci.yml").read_text() == "mine" and not Path("My_1").exists()
    done = command("ci", "github", "../elsewhere.slicc")
    assert done.returncode == 2 and "there is no file ../elsewhere.slicc\n" in done.stderr
    done = command("ci", "github", "MSl")
    assert done.returncode == 2 and "no shipped protocol of that name; did you" in done.stderr
    outside = repository.parent / "outside.slicc"
    outside.touch()
    done = command("ci", "github", outside)
    assert done.returncode == 2 and "is outside of" in done.stderr


def test_a_protocol_with_errors_has_no_workflow(repository: Path) -> None:
    Path("bad.slicc").write_text('protocol "bad"; structure(A, desc="x") { Nosuch n; }')
    done = command("ci", "github", "bad.slicc")
    assert done.returncode == 1 and "error[unknown-type]" in done.stderr
    assert done.stdout == "" and not (repository / ".github").exists()
