"""What `pip install .` ships is complete: it works from an empty directory, alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ("slicc", "runtime", "tester", "gpu", "protocols", "pyproject.toml", "README.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the installed packages and nothing else."""
    base = tmp_path_factory.mktemp("install")
    copy = base / "checkout"
    copy.mkdir()
    for name in SHIPPED:
        subprocess.run(["cp", "-r", str(ROOT / name), str(copy)], check=True)
    target = base / "site"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--target", str(target), str(copy)),
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


def test_the_tester_works_in_an_empty_directory(site: Path, tmp_path: Path) -> None:
    finished = run(site, tmp_path, "tester.cli", "--episodes", "100", "--seed", "1")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "PASSED: 100 episodes" in finished.stdout
    where = run(site, tmp_path, "tester.cli", "--version")
    assert where.returncode == 0


def test_the_compiler_works_in_an_empty_directory(site: Path, tmp_path: Path) -> None:
    driver = site / "protocols" / "MI.slicc"
    finished = run(site, tmp_path, "slicc", "compile", str(driver))
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "controllers" / "mi" / "l1cache.py").is_file()
    table = run(site, tmp_path, "slicc", "table", str(driver))
    assert table.returncode == 0, table.stderr
