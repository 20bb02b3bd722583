"""What several tests of the backend need: checking tools, and a protocol in a directory."""

from __future__ import annotations

import atexit
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def run_tool(name: str, *arguments: str | Path, cwd: Path) -> None:
    """Run a tool of this Python's environment; its findings fail the test. Skips without it."""
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    environment = dict(os.environ, MYPYPATH=f"{ROOT}{os.pathsep}{cwd}")
    done = subprocess.run(
        [program, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def assert_fits(directory: Path) -> None:
    """No line is longer than 100 columns: what is checked so holds nothing that is too long."""
    for path in directory.glob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            assert len(line) <= 100, f"{path.name}:{number}: {line}"


def assert_compiles(directory: Path) -> None:
    for path in directory.glob("*.py"):
        compile(path.read_text(encoding="utf-8"), path, "exec")


def assert_linted(directory: Path) -> None:
    """The default rules of whichever ruff is installed."""
    run_tool("ruff", "check", "--isolated", "--line-length=100", directory, cwd=directory)


@cache
def _checked_runtime() -> Path:
    """What mypy knows of the runtime, for all packages that this process has checked.

    Packages of one name in other directories are other sources to it, so none is taken for another.
    """
    directory = Path(tempfile.mkdtemp(prefix="slicc-mypy-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def assert_typed(package: Path) -> None:
    run_tool(
        *("mypy", "--strict", f"--cache-dir={_checked_runtime()}", "-p", package.name),
        cwd=package.parent,
    )


def plant_bytecode(module: Path) -> None:
    """Lay bytecode beside a module that Python's own loader would run unasked."""
    code = compile("raise RuntimeError('planted')", str(module), "exec")
    cached = Path(cache_from_source(str(module)))
    cached.parent.mkdir(exist_ok=True)
    unchecked_hash = (1).to_bytes(4, "little") + bytes(8)
    cached.write_bytes(MAGIC_NUMBER + unchecked_hash + marshal.dumps(code))
