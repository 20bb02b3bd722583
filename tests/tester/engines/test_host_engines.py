"""Choosing an engine: which one runs, what is printed, and what a leg that fails leads to."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runtime.native import system as native_system
from runtime.native.plan import NotNative, Plans, Words
from runtime.native.toolchain import compiler
from slicc.text.command.exit_status import DISAGREE, FINE, FOUND, MISUSED
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.cli.main import app
from tester.engines import selection as engine_selection
from tester.engines.choice import Choice
from tester.engines.selection import Chosen, EngineDisagreement, choose
from tester.errors import ConfigError
from tester.native.batch import LegBatch, NativeLegResult
from tests.planted.bugs import BY_NAME
from tests.tester.native.equality import engine, loaded


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*arguments, "--no-progress"])
    return result.exit_code, result.stdout, result.stderr


def without_rates(text: str) -> list[str]:
    """The lines without rates and without the engine."""
    lines = [line for line in text.splitlines() if not re.match(r"[\d.]+ s: ", line)]
    return [line for line in lines if not line.startswith(("native engine", "Python engine"))]


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)


SMALL = ("--protocol", "MI", "--episodes", "40", "--seed", "3")


def test_the_native_engine_is_used_and_named() -> None:
    engine("MI")
    status, said, _ = run(*SMALL, "--engine", "auto")
    assert status == FINE
    assert re.search(r"^native engine, compiled by \S+", said, re.MULTILINE)


def test_both_engines_say_the_same() -> None:
    engine("MI")
    native = run(*SMALL, "--engine", "native")
    python = run(*SMALL, "--engine", "python")
    assert "Python engine" in python[1]
    assert without_rates(native[1]) == without_rates(python[1])


def test_coverage_files_are_the_same(tmp_path: Path) -> None:
    engine("MI")
    files = [tmp_path / "native.json", tmp_path / "python.json"]
    for path in files:
        assert run(*SMALL, "--engine", path.stem, "--coverage", str(path))[0] == FINE
    assert files[0].read_bytes() == files[1].read_bytes()


def test_without_a_compiler_auto_takes_python_and_says_so(no_compiler: None) -> None:
    status, said, _ = run(*SMALL)
    assert status == FINE
    lines = [line for line in said.splitlines() if "engine" in line]
    assert lines == [lines[0]]
    assert lines[0].startswith("Python engine, because no C++ compiler: CXX is not set")


def test_without_a_compiler_native_is_refused(no_compiler: None) -> None:
    status, _, complaint = run(*SMALL, "--engine", "native")
    assert status == MISUSED
    assert complaint.startswith("gpu-tester: --engine native: no C++ compiler")


def test_the_words_of_a_failing_compiler_reach_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    bad.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo bad 1 && exit 0\necho out of cheese >&2\nexit 1\n"
    )
    bad.chmod(bad.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(bad))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    status, _, complaint = run(*SMALL, "--engine", "native")
    assert status == MISUSED
    assert "out of cheese" in complaint
    status, said, _ = run(*SMALL)
    assert status == FINE
    assert re.search(
        r"^Python engine, because .*bad failed \(status 1\): out of cheese$", said, re.MULTILINE
    )


def test_looking_at_single_transitions_takes_the_python_engine() -> None:
    status, _, complaint = run(*SMALL, "--trace", "all", "--engine", "native")
    assert status == MISUSED
    assert "--trace needs the Python engine" in complaint


def test_a_system_beyond_memory_is_told_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine("MI")
    monkeypatch.setattr(native_system, "available_memory", lambda: 10_000)
    status, _, complaint = run(*SMALL, "--engine", "native")
    assert status == MISUSED
    assert re.search(r"the system needs \d+ MB of memory, this machine has 0 MB free", complaint)
    status, said, _ = run(*SMALL)
    assert status == FINE
    assert "Python engine, because the system needs" in said


def test_a_protocol_without_native_form(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(protocol: object) -> None:
        raise NotNative("a pointer in a field: MI-cache.sm:12")

    monkeypatch.setattr(engine_selection, "find_compiler", lambda: refuse(None))
    said: list[str] = []
    chosen = choose(Choice.auto, loaded("MI"), said.append)
    assert chosen.native is None
    assert chosen.summary == "Python engine, because a pointer in a field: MI-cache.sm:12"
    with pytest.raises(ConfigError, match="--engine native: a pointer in a field"):
        choose(Choice.native, loaded("MI"), said.append)


@pytest.mark.slow
def test_a_failing_leg_is_reported_as_by_the_python_engine(tmp_path: Path) -> None:
    engine("GPU_VIPER")
    directory = tmp_path / "protocol"
    directory.mkdir()
    path = BY_NAME["tcp-store-without-mask"].plant(directory)
    said = []
    files = []
    for choice in ("native", "python"):
        output = tmp_path / choice
        arguments = ("--protocol", str(path), "--episodes", "300", "--seed", "1")
        status, text, _ = run(*arguments, "--engine", choice, "--output", str(output))
        assert status == FOUND
        lines = [line.replace(str(output), "") for line in without_rates(text)]
        # Only the native engine tries other statements, and random legs.
        first = lines.index("suspect")
        del lines[first + 1 : lines.index("", first)]
        said.append(lines)
        files.append([leg.read_bytes() for leg in sorted(output.glob("*.leg"))])
    assert said[0] == said[1]
    assert files[0] == files[1]
    assert len(files[0]) == 2  # the leg, and the least of it


def test_a_native_failure_that_python_does_not_see_is_our_bug(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine("MI")
    from tester.execution.events import Verdict
    from tester.native import batch as native_batch
    from tester.native.leg import NativeLegRun

    monkeypatch.setattr(native_batch, "SMALL_LEG", 0)
    honest = NativeLegRun._run

    def lying(self: NativeLegRun) -> None:
        honest(self)
        self._found(Verdict.LEAK)

    monkeypatch.setattr(NativeLegRun, "_run", lying)
    status, said, complaint = run(*SMALL, "--engine", "native", "--output", str(tmp_path))
    assert status == DISAGREE
    assert "BROKEN: the engines disagree" in said
    assert "BUG OF THE TESTER" in complaint
    assert "native: leak in tick" in complaint
    assert "Python: passed after" in complaint
    leg = next(tmp_path.glob("*.leg"))
    assert f"gpu-tester diff {leg} shows where they part" in complaint
    with pytest.raises(EngineDisagreement):
        campaign = Campaign(loaded("MI"), Options(3, 40), engine("MI"))
        campaign.run_leg(campaign.plan(0).leg)


def test_a_batch_that_ends_otherwise_than_its_legs_alone_is_our_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = Campaign(loaded("MI"), Options(3, 40), engine("MI"))
    leg = campaign.plan(0).leg
    honest = LegBatch.run

    def lying(self: LegBatch, *arguments: Any) -> list[NativeLegResult]:
        return [replace(result, failure="leak") for result in honest(self, *arguments)]

    monkeypatch.setattr(LegBatch, "run", lying)
    with pytest.raises(AssertionError, match="our own bug: in a batch the leg ended with 'leak'"):
        campaign.run_leg(leg)


def test_diff_finds_nothing_where_nothing_is() -> None:
    engine("MI")
    status, said, _ = run("diff", *SMALL)
    assert status == FINE
    assert "both engines make the same transitions" in said


def test_a_fallback_is_said_once() -> None:
    said: list[str] = []
    chosen = Chosen(None, "native engine", said.append)
    after = chosen.without_native(NotNative("a class it lacks"))
    assert said == ["Python engine, because a class it lacks"]
    assert after.native is None


def test_diff_shows_where_they_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One of them gets a memory that is a tick slower."""
    engine("MI")
    honest = Plans.plan

    def slower(self: Plans, *arguments: Any) -> Words:
        words = honest(self, *arguments)
        words[5] += 1
        return words

    monkeypatch.setattr(Plans, "plan", slower)
    status, said, complaint = run("diff", *SMALL, "--output", str(tmp_path))
    assert status == DISAGREE
    assert "BUG OF THE TESTER" in complaint
    shown = [
        line.split() for line in said.splitlines() if re.match(r"  (both|Python|native) ", line)
    ]
    assert [line[0] for line in shown[-4:]] == ["Python", "native", "Python", "native"]
    python, native = shown[-4:-2]
    assert int(native[1].replace(",", "")) == int(python[1].replace(",", "")) + 1
    assert python[2:] == native[2:]
    assert [line[1] for line in shown[-2:]] == ["ends:", "ends:"]
