"""The first page on kernels: what its commands print is what it says."""

from __future__ import annotations

import re
import runpy
import shlex
import zipfile
from pathlib import Path

import pytest

from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import stored_bytes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gpu.md").read_text()
BLOCKS = [
    (command.strip(), promised)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command, promised in re.findall(r"^\$ gcn (.*?)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def as_pattern(promised: str) -> str:
    """``...`` stands for anything: on a line of its own for lines, else for part of a line."""
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in promised.splitlines()]
    return "\n".join("(?s:.*)" if line == ".*" else line for line in lines)


@pytest.mark.parametrize(("command", "promised"), BLOCKS, ids=[each[0][:30] for each in BLOCKS])
def test_commands_print_what_the_page_says(
    command: str, promised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(ROOT / "tests/gpu/kernels/objects/clang14-O2.zip") as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = gcn(*shlex.split(command))
    assert re.fullmatch(as_pattern(promised), (answer.out + answer.err).rstrip("\n"))


def test_the_program_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"```python file=shared\.py\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "shared.py").write_text(found[1])
    (tmp_path / "lock.co").write_bytes(stored_bytes("lock"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path("shared.py")
    promised = re.search(r"# (\d+ False)\n", found[1])
    assert promised is not None and capsys.readouterr().out == promised[1] + "\n"


def test_there_are_commands() -> None:
    assert len(BLOCKS) == 6


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([\w-]+\.md)\)", PAGE)
    assert links and all((ROOT / "docs" / link).is_file() for link in links)
