"""The tester's page has every option and every profile."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from tester.cli.main import app
from tester.scenario import profiles

PAGE = Path(__file__).parents[2] / "docs" / "tester.md"


def test_the_table_has_every_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = set(re.findall(r"--[a-z0-9-]+", page))
    command = typer.main.get_command(app)
    options = {name for parameter in command.params for name in parameter.opts}
    long = {name for name in options if name.startswith("--")} - {"--version", "--help"}
    assert {"--known-defects", "--prelude", "--seed"} <= long
    missing = {
        name for name in long if name not in table and not name.startswith(("--l1-", "--l2-"))
    }
    assert not missing


def test_the_table_has_every_profile() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in profiles.names() if f"`{name}`" not in page] == []
