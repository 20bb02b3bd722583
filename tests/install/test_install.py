"""What `pip install .` ships is complete: it works from an empty directory, alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("slicc", "runtime", "tester", "gpu", "protocols")

BESIDE = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, in which an older build left a module that is gone since."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in (*PACKAGES, *BESIDE):
        subprocess.run(["cp", "-r", str(ROOT / name), str(copy)], check=True)
    ghost = copy / "build" / "lib" / "slicc" / "ghost.py"
    ghost.parent.mkdir(parents=True)
    ghost.write_text("")
    return copy


@pytest.fixture(scope="module")
def site(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the installed packages and nothing else."""
    target = tmp_path_factory.mktemp("install") / "site"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--target", str(target), str(checkout)),
        ],
        check=True,
        timeout=120,
    )
    return target


def run(site: Path, directory: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "HOME": str(directory)}
    environment.pop("XDG_CACHE_HOME", None)
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_what_is_installed_is_what_is_in_the_repository(site: Path) -> None:
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", *PACKAGES)
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("needs a checkout by git")
    files = {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
    installed = {
        str(path)
        for path in files
        if path.parts[0] != "bin" and ".dist-info" not in path.parts[0] and path.suffix != ".pyc"
    }
    assert installed == {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.mark.slow
def test_installing_leaves_nothing_in_the_checkout(checkout: Path, site: Path) -> None:
    found = {path.name for path in checkout.iterdir()}
    assert found == {*PACKAGES, *BESIDE, "build"}
    assert [path.name for path in (checkout / "build").rglob("*.py")] == ["ghost.py"]


@pytest.mark.slow
def test_the_tester_works_in_an_empty_directory(site: Path, tmp_path: Path) -> None:
    finished = run(site, tmp_path, "tester.cli.main", "--episodes", "100", "--seed", "1")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "PASSED: 100 episodes" in finished.stdout
    where = run(site, tmp_path, "tester.cli.main", "--version")
    assert where.returncode == 0


@pytest.mark.slow
def test_the_compiler_works_in_an_empty_directory(site: Path, tmp_path: Path) -> None:
    driver = site / "protocols" / "MI.slicc"
    finished = run(site, tmp_path, "slicc", "compile", str(driver))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "controllers" / "mi" / "l1cache.py").is_file()
    table = run(site, tmp_path, "slicc", "table", str(driver))
    assert table.returncode == 0, table.stderr
