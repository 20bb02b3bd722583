"""Values of the options that several verbs have."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from slicc.text.command.options import specs
from tester.cli.main import VERBS, app
from tester.limits import HISTORY_ROWS, LIMITS


def errors_of(*words: str) -> str:
    done = CliRunner().invoke(app, ["MI", "--episodes", "5", *words])
    assert done.exit_code == 2
    return done.stderr


@pytest.mark.parametrize(
    ("option", "path", "value"),
    [
        ("--cus 4", "machine.L1Cache.count", 2),
        ("--dirs 1", "machine.Directory.count", 2),
        ("--l1-size 1k", "machine.L1Cache.cache.cacheMemory.ways", 4),
        ("--delay uniform", "network.delays", "nominal"),
    ],
)
def test_an_option_beside_a_set_of_the_same(option: str, path: str, value: object) -> None:
    """One of them was ignored without a word."""
    written = option.replace("1k", "1024")
    said = " ".join(errors_of(*option.split(), "--set", f"{path}={value}").split())
    assert f"{written} and --set {path}={value} decide the same: leave one of them out" in said


def test_what_an_option_says_does_not_need_the_one_above_it() -> None:
    """A terminal shows few of them, and a completion one."""
    said = {spec.help for verb in VERBS for _, spec in specs(verb.options)}
    assert "Lines under test." in said
    assert [text for text in said if re.search(r"\b(of it|one of them|one out)\b", text)] == []


def test_an_option_beside_a_set_that_says_the_same() -> None:
    same = ("--cus", "3", "--set", "machine.L1Cache.count=3")
    run = ("MI", "--episodes", "5", "--engine", "python", "--seed", "1")
    assert CliRunner().invoke(app, [*run, *same]).exit_code == 0


@pytest.mark.parametrize(
    ("name", "option"), [("history", "--history"), ("jobs", "--jobs"), ("lanes", "--lanes")]
)
def test_a_number_outside_of_its_limits_is_refused_with_them(name: str, option: str) -> None:
    within = LIMITS[name]
    for value in (within.low - 1, within.high + 1):
        assert f"{within.low} to {within.high} are possible" in errors_of(option, str(value))


def test_rows_of_a_history_are_a_number_or_all() -> None:
    assert "'some' is neither a number of rows nor all" in errors_of("--history", "some")
    assert f"1 to {HISTORY_ROWS} are possible" in errors_of("--history", str(HISTORY_ROWS + 1))
