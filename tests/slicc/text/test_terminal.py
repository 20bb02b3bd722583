"""No content of names and files makes the output of commands control a terminal."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gpu.cli.error_messages import input_error
from gpu.cli.main import app as gcn_app
from slicc.cli import main
from slicc.cli.application import app
from slicc.text.command.exit_status import FINE, FOUND, MISUSED, OURS, run_command
from slicc.text.terminal import guarded, own, printable_lines
from tester.cli import main as tester_cli
from tester.program.replay_file import load_leg, save_leg
from tests.slicc.text.hostile import SCREEN

SHIPPED = Path(__file__).parents[3] / "protocols"
NAME = SCREEN.replace("\0", "") + "\r\x1f\u2028"


@dataclass
class Printed:
    status: int
    out: str
    err: str


def printed(command: Callable[[], int]) -> Printed:
    """What a command prints, of which every character is shown as it is."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = command()
    text = out.getvalue() + err.getvalue()
    assert text.replace("\n", "").isprintable(), ascii(text)
    return Printed(status, out.getvalue(), err.getvalue())


def slicc(*arguments: str | Path) -> Printed:
    return printed(lambda: main.run(lambda: app([str(each) for each in arguments])))


def gpu_tester(*given: str | Path) -> Printed:
    arguments = [str(each) for each in given]
    return printed(lambda: tester_cli._status(lambda: tester_cli.app(arguments)))


def gcn(*given: str | Path) -> Printed:
    arguments = [str(each) for each in given]
    return printed(lambda: run_command("gcn", lambda: gcn_app(arguments), input_error, ""))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MI in a folder and files of hostile names; the command runs beside it."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / f"{NAME} folder"
    home.mkdir()
    for path in SHIPPED.glob("MI*"):
        shutil.copy(path, home / path.name)
    (home / "MI-cache.sm").rename(home / f"{NAME}.sm")
    driver = home / "MI.slicc"
    text = driver.read_text().replace('"MI-cache.sm"', f'"{NAME}.sm"')
    driver.write_text(text, encoding="utf-8", newline="")
    driver.rename(home / f"{NAME}\n.slicc")
    return home


def driver(folder: Path) -> Path:
    return folder / f"{NAME}\n.slicc"


@pytest.mark.parametrize("verb", ["check", "compile", "graph", "table", "ir"])
def test_commands_on_hostile_names(folder: Path, verb: str) -> None:
    assert slicc(verb, driver(folder)).status == FINE


def test_a_system_is_toml_all_the_same(folder: Path) -> None:
    done = slicc("system", driver(folder))
    assert done.status == FINE, done.err
    assert tomllib.loads(done.out)["protocol"] == driver(folder).name


@pytest.mark.parametrize("color", ["never", "always"])
def test_findings_in_hostile_files(folder: Path, color: str) -> None:
    source = folder / f"{NAME}.sm"
    source.write_text(f'{source.read_text()}\naction(x, "{NAME}") {{ }}\n// \x1b[2J\n', newline="")
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert main.run(lambda: app(["check", "--color", color, str(driver(folder))])) == FOUND
    shown = err.getvalue()
    for sequence in ("1;31", "1;33", "34", "36", "1", "32", "0"):
        shown = shown.replace(f"\x1b[{sequence}m", "")
    assert ("\x1b" in err.getvalue()) == (color == "always")
    assert shown.replace("\n", "").isprintable()


def test_findings_as_json(folder: Path) -> None:
    source = folder / f"{NAME}.sm"
    source.write_text(f"{source.read_text()}\naction(x) {{ }}\n", newline="")
    done = slicc("check", "--format", "json", driver(folder))
    assert done.status == FOUND
    files = {each["file"] for each in json.loads(done.err)["diagnostics"]}
    assert any(NAME in each for each in files)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    missing = tmp_path / f"{NAME}.slicc"
    assert slicc("check", missing).status == MISUSED
    assert slicc("system", missing).status == MISUSED
    assert slicc("check", f"--{NAME}").status == MISUSED
    assert gpu_tester("--protocol", missing).status == MISUSED
    assert gpu_tester("--replay", missing).status == MISUSED
    assert gpu_tester("--trace", NAME, "--protocol", "MI").status == MISUSED
    assert gcn("info", missing).status == MISUSED
    assert gcn("run", missing).status == MISUSED


def test_a_replay_file_that_says_anything(folder: Path) -> None:
    done = gpu_tester("-p", "MI", "--episodes", "2", "--seed", "1", "--save-program", "one.leg")
    assert done.status == FINE, done.err
    leg = load_leg("one.leg")
    driver_of_hostile_name = replace(leg.protocol, path=str(driver(folder)))
    for changed in (
        replace(leg, protocol=replace(leg.protocol, digest=NAME)),
        replace(leg, protocol=driver_of_hostile_name),
        replace(leg, version=NAME),
        replace(leg, profile=NAME),
    ):
        save_leg(changed, "two.leg")
        done = gpu_tester("--replay", "two.leg")
        assert done.status == MISUSED
        assert "\\x1b" in done.err or "u2028\\n" in done.err, "what the field holds is shown"


def test_a_fault_of_ours_in_a_hostile_file() -> None:
    def fail() -> None:
        raise RuntimeError(NAME)

    done = printed(lambda: run_command("slicc", fail, lambda error: None, "a fault"))
    assert done.status == OURS
    assert "\\x1b" in done.err


def test_lines_and_tabs_are_layout() -> None:
    assert printable_lines("a\tb\n\N{GREEK SMALL LETTER ALPHA}\r\n") == "a\tb\n\u03b1\\r\n"


def test_guards_are_passed_on_purpose_only() -> None:
    with redirect_stdout(io.StringIO()) as out:
        with guarded(), guarded():
            print("\x1b[1m")
            own(sys.stdout).write("\x1b[1m")
            assert not hasattr(sys.stdout, "buffer")
        print("\x1b[1m", end="")
    assert out.getvalue() == "\\x1b[1m\n\x1b[1m\x1b[1m"
