"""The tester's page has every verb, every option and every profile, and no other option."""

from __future__ import annotations

import re
from pathlib import Path

from slicc.text.command.options import written
from tester.cli.main import VERBS
from tester.profiles import profiles

PAGE = Path(__file__).parents[2] / "docs" / "tester.md"


def test_the_tables_have_every_verb_and_every_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    verbs = page.partition("| verb |")[2].partition("\n\n")[0]
    assert [verb.name for verb in VERBS] == re.findall(r"^\| `([a-z]+)", verbs, re.M)
    long = {n for verb in VERBS for n in written(verb.options) if n.startswith("--")}
    rows = "".join(re.findall(r"^(\| `--.*?) \|", page, re.M))
    in_table = set(re.findall(r"--[a-z0-9-]+", rows))
    assert {"--known-defects", "--prelude", "--seed"} <= long
    assert in_table == long


def test_what_diff_lacks_is_said() -> None:
    page = PAGE.read_text(encoding="utf-8")
    said = page.partition("`diff` those of `run` but ")[2].partition(", and with")[0]
    options = {verb.name: written(verb.options) for verb in VERBS}
    lacking = {name for name in options["run"] - options["diff"] if name.startswith("--")}
    assert set(re.findall(r"--[a-z0-9-]+", said)) == lacking


def test_the_table_has_every_profile() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in profiles.names() if f"`{name}`" not in page] == []
