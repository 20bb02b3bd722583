"""The sdist and the wheel that is built from it, installed into an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.readme import console_lines, run_line

ROOT = Path(__file__).parents[2]
PACKAGES = ("slicc", "runtime", "tester", "gpu", "protocols")
PROGRAMS = ("slicc", "gpu-tester", "gcn")
BESIDE = (".gitignore", ".clang-format", ".ci/run")
"""Tracked files that a source distribution need not have."""

pytestmark = pytest.mark.slow


class Distributions(NamedTuple):
    files: list[str]
    """Of the checkout."""
    sdist: Path
    source: Path
    """The sdist, unpacked."""
    wheel: Path


def build(target: str, directory: Path, output: Path) -> Path:
    command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(output))
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = output.glob("*.tar.gz" if target == "sdist" else "*.whl")
    return built


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs a checkout by git")
    files = [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]
    temporary = tmp_path_factory.mktemp("distributions")
    for name in files:  # a copy: builds leave nothing in the checkout
        (temporary / "checkout" / name).parent.mkdir(parents=True, exist_ok=True)
        (temporary / "checkout" / name).write_bytes((ROOT / name).read_bytes())
    sdist = build("sdist", temporary / "checkout", temporary)
    with tarfile.open(sdist) as archive:
        archive.extractall(temporary / "unpacked", filter="data")
    (source,) = (temporary / "unpacked").iterdir()
    return Distributions(files, sdist, source, build("wheel", source, temporary))


@pytest.fixture(scope="module")
def programs(made: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the programs of a new environment, which has only the wheel.

    Its dependencies are those of this environment: they come last on the path.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")),
            *("install", "--quiet", "--no-deps", "--force-reinstall", str(made.wheel)),
        ],
        check=True,
    )
    return home / "bin"


def environment(home: Path) -> dict[str, str]:
    own = {**os.environ, "HOME": str(home)}
    for name in ("PYTHONPATH", "XDG_CACHE_HOME"):
        own.pop(name, None)
    return own


def test_the_sdist_has_tests_documents_and_license(made: Distributions) -> None:
    with tarfile.open(made.sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert names - {"PKG-INFO", ".gitignore"} == set(made.files) - set(BESIDE)
    assert {"LICENSE", "CONTRIBUTING.md", "docs/language.md", "tests/conftest.py"} <= names


def test_the_wheel_has_the_packages_with_their_data(made: Distributions) -> None:
    with zipfile.ZipFile(made.wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        text = archive.read(metadata).decode()
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == {name for name in made.files if name.partition("/")[0] in PACKAGES}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "\nLicense-Expression: BSD-3-Clause\n" in text
    assert "\nClassifier: " in text and "\nProvides-Extra: dev\n" in text


def test_the_programs_are_those_of_the_wheel(programs: Path, tmp_path: Path) -> None:
    for program in PROGRAMS:
        done = subprocess.run(
            [programs / program, "--version"],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(program)
    where = "import slicc, gpu; print(slicc.__file__, gpu.__file__)"
    done = subprocess.run(
        [programs / "python", "-c", where],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(path.startswith(str(programs.parent)) for path in done.stdout.split())


def test_the_lines_of_the_readme_work(programs: Path, tmp_path: Path) -> None:
    commands = {program: (str(programs / program),) for program in PROGRAMS}
    (tmp_path / "here").mkdir()
    for line in console_lines():
        run_line(line, tmp_path / "here", commands, environment(tmp_path))


def test_the_tests_of_the_sdist_run(made: Distributions, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/slicc/syntax")
    done = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'pytest'}"],
        cwd=made.source,
        env={**environment(tmp_path), "PYTHONPATH": str(made.source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
