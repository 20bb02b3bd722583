"""What the command prints of legs, options and traces; what it refuses because nothing obeys it."""

from __future__ import annotations

import io
import re

import pytest
from typer.testing import CliRunner

from slicc.text.command.progress import Progress, colored
from tester.cli.main import app
from tester.cli.session import duration


def gpu_tester(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_one_line_a_leg_and_details_on_request() -> None:
    run = ("MI", "--episodes", "60", "--seed", "3", "--leg-episodes", "30", "--engine", "python")
    _, brief, _ = gpu_tester(*run)
    legs = re.findall(r"^leg +(\d+)  (\S+) +30 episodes  .*  passed$", brief, re.M)
    assert [number for number, _ in legs] == ["0", "1"]
    _, whole, _ = gpu_tester(*run, "-v")
    assert re.findall(r"^leg .*$", whole, re.M) == re.findall(r"^leg .*$", brief, re.M)
    assert len(re.findall(r"^  \d+ agents", whole, re.M)) == 2
    assert len(re.findall(r"^  .*lane accesses in .* ticks, .* agents live", whole, re.M)) == 2
    assert "agents live" not in brief


def test_a_drawn_seed_stands_in_the_last_line_and_leads_back() -> None:
    status, text, _ = gpu_tester("MI", "--episodes", "5", "--quiet", "--seed")
    assert status == 0
    drawn = re.fullmatch(r"(PASSED: 5 episodes .*), seed (\d+)(; without .*)?\n", text)
    assert drawn
    _, again, _ = gpu_tester("MI", "--episodes", "5", "--quiet", "--seed", drawn[2])
    assert again == f"{drawn[1]}{drawn[3] or ''}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "MSI --tccs 2",
            "--tccs 2 would have no effect: MSI has no second level (it has L1Cache, ",
        ),
        ("MSI --write-through", "--write-through would have no effect: MSI has no second level "),
        ("MSI --scopes 30", "--scopes 30 would have no effect: MSI has no access that bypasses"),
        ("MI --coalesce", "--coalesce would have no effect: MI has no coalescer"),
        ("MI --wavefronts 4", "--wavefronts 4 would have no effect: MI has no wavefronts"),
        ("MI --l2-size 4k", "--l2-size 4096 would have no effect: MI has no second level"),
        ("GPU_VIPER --cpus 2", "--cpus 2 would have no effect: GPU_VIPER has no processors beside"),
        ("MI --delay foo", "foo: nominal, uniform, heavy_tail, gem5, skewed, stragglers are"),
        ("MI --delay uniforn", "did you mean uniform?"),
    ],
)
def test_options_without_effect_are_refused(arguments: str, message: str) -> None:
    status, text, errors = gpu_tester(*arguments.split(), "--episodes", "5")
    assert status == 2
    assert message in text + errors


@pytest.mark.parametrize(
    "arguments",
    [
        "MSI --cus 2 --dirs 2 --l1-sets 4 --delay skewed",
        "GPU_VIPER --tccs 2 --write-back --scopes 10 --lanes 2 --one-request-per-lane --l2-ways 2",
        "GPU_VIPER_APU --cpus 1 --wavefronts 2",
        "MESI_Two_Level --tccs 2 --l2-size 4k",
    ],
)
def test_options_with_an_effect_are_not(arguments: str) -> None:
    few = ("--episodes", "5", "--seed", "1", "--engine", "python")
    status, text, errors = gpu_tester(*arguments.split(), *few)
    assert status == 0, text + errors


def test_a_trace_of_an_untouched_line_names_others() -> None:
    run = ("MI", "--episodes", "5", "--seed", "1", "--quiet", "--trace")
    _, text, errors = gpu_tester(*run, "0x40")
    note = re.search(r"--trace: no transition of line 0x40; there were some of (0x\w+)", errors)
    assert note
    assert note[1] not in text
    _, text, errors = gpu_tester(*run, note[1])
    assert note[1] in text
    assert not errors


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 67, 3725)] == ["0:00", "1:07", "1:02:05"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colored(Terminal())
    assert not colored(io.StringIO())
    shown = Terminal()
    monkeypatch.setattr("sys.stdout", shown)
    Progress(str, False).verdict("FAILED", "1 episode", good=False)
    assert shown.getvalue() == "\x1b[1;31mFAILED\x1b[0m: 1 episode\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colored(Terminal())
