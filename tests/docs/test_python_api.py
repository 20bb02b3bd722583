"""The examples of docs/python-api.md run, print what the page says, and are typed.

A block ``python file=F`` is a script; the ``text`` block after it holds lines of its output in
order, where ``...`` stands for anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.test_first_protocol import check_output
from tests.install.test_public_names import NAMES
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"^```python file=(\S+)\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.M | re.S)
EXPECTED = {name: output for name, _, output in SCRIPTS}
PLOT = "sweep.py"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the examples."""
    path = tmp_path_factory.mktemp("examples")
    for name, text, _ in SCRIPTS:
        (path / name).write_text(text, encoding="utf-8")
    return path


def run(directory: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sampled(reversed(EXPECTED), 4))
def test_an_example_prints_what_the_page_says(name: str, directory: Path) -> None:
    if name == PLOT:
        pytest.importorskip("matplotlib")
    check_output(EXPECTED[name].splitlines(), run(directory, name))
    assert name != PLOT or (directory / "sweep.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_examples_are_typed(directory: Path) -> None:
    names = [name for name in EXPECTED if name != PLOT or find_spec("matplotlib") is not None]
    run(directory, "-m", "mypy", "--strict", "--follow-imports=silent", *names)


def test_all_scripts_are_found() -> None:
    assert len(SCRIPTS) == PAGE.count("```python") == 8


def test_the_page_lists_the_public_names() -> None:
    for package, names in NAMES.items():
        (row,) = re.findall(rf"^\| `{package}` \| (.*?) \|", PAGE, re.M)
        assert set(re.findall(r"`(\w+)`", row)) == names


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([\w-]+\.md)\)", PAGE)
    assert links and all((ROOT / "docs" / link).is_file() for link in links)
