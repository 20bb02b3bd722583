"""The examples of docs/tester-programs.md run, and its tables name what exists."""

from __future__ import annotations

import re
from pathlib import Path

from tester.profiles import profiles
from tester.program.program import Program
from tests.tester.programs import small

TEXT = (Path(__file__).parents[2] / "docs" / "tester-programs.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert examples
    for example in examples:
        names: dict[str, object] = {}
        exec(compile(example, "docs/tester-programs.md", "exec"), names)
        assert isinstance(names["half"], Program)


def test_the_profile_table_is_complete() -> None:
    section = TEXT.split("## Profiles")[1]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", section, re.M)) == set(profiles.PROFILES)


def test_the_array_table_is_right() -> None:
    section = TEXT.split("## What a program is")[1].split("```python")[0]
    program = small()
    rows = re.findall(r"^\| (`.*?`) \| ([EALGTW0-9+, ]+) \|", section, re.M)
    sizes = {"E": program.episodes, "A": program.actions, "L": program.lanes}
    sizes |= {"G": program.groups, "T": program.agent_count, "W": program.waits}
    sizes["E+1"] = program.episodes + 1
    checked = 0
    for row, shape in rows:
        arrays = re.findall(r"`(\w+)`", row)
        parts = [sizes[s] for s in shape.split(", ")]
        for i, name in enumerate(arrays):
            if len(arrays) == len(parts) and len(arrays) > 1:
                assert getattr(program, name).shape == (parts[i],)
            else:
                assert getattr(program, name).shape == tuple(parts)
            checked += 1
    assert checked == 17
