"""Commands whose standard streams are closed or cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no POSIX shell")

_SLICC = "-m slicc.cli.main"
_COMMAND = """
import os, sys
from slicc.text.command.exit_status import FINE, FOUND, run_command

def command():
    with open("file", "w") as file:
        {body}
sys.exit(run_command("name", command, lambda error: None, ""))
"""


def shell(python: str, redirections: str, directory: Path) -> tuple[int, str, str]:
    line = f'"{sys.executable}" {python} {redirections}'
    done = subprocess.run(["sh", "-c", line], cwd=directory, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def command(body: str, redirections: str, directory: Path) -> tuple[int, str, str]:
    (directory / "command.py").write_text(_COMMAND.format(body=body))
    return shell("command.py", redirections, directory)


_LOST = "cannot write the output: stdout is closed\n"


def test_output_that_a_closed_stdout_loses_is_an_error(tmp_path: Path) -> None:
    assert command("print(1)", ">&-", tmp_path) == (2, "", f"name: {_LOST}")
    assert command("sys.stdout.flush()", ">&-", tmp_path) == (0, "", "")
    told = f"slicc: no errors\nslicc: {_LOST}"
    assert shell(f"{_SLICC} ir MI", ">&-", tmp_path) == (2, "", told)
    assert shell(f"{_SLICC} --help", ">&-", tmp_path) == (2, "", f"slicc: {_LOST}")


@pytest.mark.parametrize("redirections", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_bug_that_was_found_stays_found(redirections: str, tmp_path: Path) -> None:
    assert command("print(1); return FOUND", redirections, tmp_path)[0] == 1


def test_a_closed_stderr_changes_no_status(tmp_path: Path) -> None:
    assert command("print(1, file=sys.stderr)", "2>&-", tmp_path) == (0, "", "")
    assert shell(f"{_SLICC} check nope", "2>&-", tmp_path) == (2, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_message_that_cannot_be_written_changes_no_status(tmp_path: Path) -> None:
    assert shell("-m tester.cli.main replay nope", "2>/dev/full", tmp_path) == (2, "", "")


def test_no_file_receives_the_output_of_children(tmp_path: Path) -> None:
    body = "print(file.fileno() > 2, file=file, flush=True); os.system('echo 1; echo 2 >&2')"
    assert command(body, "<&- >&- 2>&-", tmp_path) == (0, "", "")
    assert (tmp_path / "file").read_text() == "True\n"


def test_a_closed_stdin_is_empty(tmp_path: Path) -> None:
    assert command("print(sys.stdin.read() == '')", "<&-", tmp_path) == (0, "True\n", "")
