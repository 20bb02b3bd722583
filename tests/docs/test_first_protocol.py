"""The tutorial is executed: its files are written, its edits applied, its commands run.

Blocks of ``docs/first-protocol.md``: ``slicc file=F`` is the text of a file; ``diff file=F`` is one
edit, found by its unchanged and removed lines, which occur exactly once; ``console`` holds commands
(``$ …``) and the lines that must appear in their output in this order, where ``...`` stands for
anything. ``exit=N`` is the last command's status, ``change=F:old:new`` an edit for this block.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "first-protocol.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = {"slicc": "slicc.cli.main", "gpu-tester": "tester.cli.main"}


def options_of(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split())


def edited(text: str, diff: str) -> str:
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[:1] != "+")
    new = "\n".join(line[1:] for line in lines if line[:1] != "-")
    assert text.count(old + "\n") == 1, f"the edit does not fit exactly once:\n{old}"
    return text.replace(old + "\n", new + "\n")


def run(command: str, directory: Path) -> tuple[int, str]:
    program, *arguments = shlex.split(command)
    finished = subprocess.run(
        [sys.executable, "-m", MODULES[program], *arguments],
        cwd=directory,
        env={"PYTHONPATH": str(PAGE.parents[1]), "HOME": str(directory), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return finished.returncode, finished.stdout + finished.stderr


def matches(expected: str, line: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.", expected))
    return re.fullmatch(pattern, line) is not None


def check_output(expected: list[str], output: str) -> None:
    lines = iter(output.splitlines())
    for wanted in expected:
        if wanted == "...":
            continue
        assert any(matches(wanted, line) for line in lines), f"no line {wanted!r} in:\n{output}"


def run_console(body: str, options: dict[str, str], directory: Path) -> None:
    steps = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    for number, step in enumerate(steps):
        command, *expected = step.rstrip("\n").split("\n")
        status, output = run(command, directory)
        last = number == len(steps) - 1
        wanted_status = int(options.get("exit", "1" if "change" in options else "0")) if last else 0
        assert status == wanted_status, f"$ {command}\n{output}"
        check_output(expected, output)


def files_at_the_end() -> dict[str, str]:
    """The protocol with all edits."""
    files: dict[str, str] = {}
    for kind, words, body in BLOCK.findall(PAGE.read_text()):
        name = options_of(words).get("file", "")
        if kind == "slicc":
            files[name] = body
        elif kind == "diff":
            files[name] = edited(files[name], body)
    return files


@pytest.mark.slow
def test_the_tutorial_works_as_printed(tmp_path: Path) -> None:
    consoles = 0
    for kind, words, body in BLOCK.findall(PAGE.read_text()):
        options = options_of(words)
        if kind == "slicc":
            (tmp_path / options["file"]).write_text(body)
        elif kind == "diff":
            path = tmp_path / options["file"]
            path.write_text(edited(path.read_text(), body))
        elif kind == "console":
            consoles += 1
            if "change" in options:
                name, old, new = options["change"].split(":")
                path = tmp_path / name
                good = path.read_text()
                assert old in good
                path.write_text(good.replace(old, new))
                run_console(body, options, tmp_path)
                path.write_text(good)
            else:
                run_console(body, options, tmp_path)
    assert consoles == 6
    assert (tmp_path / "controllers" / "lend" / "l1cache.py").is_file()
    assert (tmp_path / "pictures" / "Lend.html").is_file()
