"""Values of the options that several verbs have."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tester.cli.main import app
from tester.limits import HISTORY_ROWS, LIMITS


def errors_of(*words: str) -> str:
    done = CliRunner().invoke(app, ["MI", "--episodes", "5", *words])
    assert done.exit_code == 2
    return done.stderr


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
