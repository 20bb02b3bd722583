"""The generated package: what people read, and what tools say about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from slicc.codegen.python.package import package
from slicc.codegen.python.writer import write_package
from tests.conftest import Golden
from tests.slicc.codegen.sample_ir import PROTOCOL
from tests.slicc.codegen.tools import (
    ROOT,
    assert_compiles,
    assert_fits,
    assert_linted,
    assert_typed,
)


def test_the_package_reads_like_this(golden: Golden) -> None:
    for name, text in package(PROTOCOL).files.items():
        if text:
            golden(f"toy/{name}.txt", text)


@pytest.mark.slow
def test_tools_have_nothing_to_say(tmp_path: Path) -> None:
    written = write_package(PROTOCOL, tmp_path)
    assert_fits(written)
    assert_linted(written)
    assert_typed(written)


@pytest.mark.slow
def test_a_wrong_type_is_seen_behind_a_right_one_of_the_same_name(tmp_path: Path) -> None:
    for place, text in (("first", "x: int = 1\n"), ("second", "x: int = ''\n")):
        package_ = tmp_path / place / "frame"
        package_.mkdir(parents=True)
        (package_ / "__init__.py").write_text(text)
        if place == "first":
            assert_typed(package_)
    with pytest.raises(AssertionError, match="Incompatible types"):
        assert_typed(package_)


def test_same_input_same_bytes() -> None:
    assert package(PROTOCOL) == package(PROTOCOL)
    script = (
        "import hashlib; from slicc.codegen.python.package import package;"
        "from tests.slicc.codegen.sample_ir import PROTOCOL;"
        "print(hashlib.sha256(repr(package(PROTOCOL)).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=dict(os.environ, PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(digests) == 1


def test_no_place_of_this_machine_shows() -> None:
    assert PROTOCOL.sources == ("/somewhere/else/toy.sm",)
    for text in package(PROTOCOL).files.values():
        assert "somewhere" not in text
        assert "toy.sm" in text or "L1Cache" not in text


def test_every_marked_line_is_in_the_map() -> None:
    made = package(PROTOCOL)
    tables = json.loads(made.files["linemap.json"])
    assert set(tables) == {name for name in made.files if name.endswith(".py")} - {"__init__.py"}
    lines = made.files["l1cache.py"].split("\n")
    source = {sm for number, _, sm in tables["l1cache.py"] if "divide(" in lines[number - 1]}
    sample = PROTOCOL.span.file.text.split("\n")
    assert [sample[line - 1].strip() for line in source] == [
        'if (tbe.pending / 2 > 4) { error("too many"); }'
    ]
    numbers = [row[0] for row in tables["l1cache.py"]]
    assert numbers == sorted(numbers)
    assert not any("\x1f" in text for text in made.files.values())


def test_a_machine_without_anything_is_still_a_module(tmp_path: Path) -> None:
    home = PROTOCOL.machines[1]
    empty = replace(
        home,
        parameters=(),
        in_ports=(),
        actions=(),
        transitions=(),
        cells=(),
        events=replace(home.events, members=()),
    )
    written = write_package(replace(PROTOCOL, machines=(empty,), structs=()), tmp_path)
    assert_fits(written)
    assert_compiles(written)


def test_sources_whose_names_hold_quotes_and_line_ends(tmp_path: Path) -> None:
    protocol = replace(PROTOCOL, name='Q"\\\n"""', sources=('a"b\n.sm',))
    written = write_package(protocol, tmp_path)
    assert written.name == "q"
    assert_fits(written)
    assert_compiles(written)
