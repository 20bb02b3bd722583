"""The unit of a protocol: what people read, and what the host looks up."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from slicc.codegen.cpp import generate, package
from tests.conftest import Golden
from tests.slicc.codegen.cpp.tools import ROOT, assert_compiles, compiled, made
from tests.slicc.codegen.sample_ir import PROTOCOL


def test_the_unit_reads_like_this(golden: Golden) -> None:
    """The toy protocol of the other backend. ``--update`` accepts a change."""
    for name, text in package(PROTOCOL).files.items():
        golden(f"toy/{name}.txt", text)


def test_the_toy_compiles(tmp_path: Path) -> None:
    assert_compiles(package(PROTOCOL), tmp_path)


def test_every_number_is_in_its_table() -> None:
    files = made("T.deallocate(address); assert(tbe.n == 1);").files
    text = files["L1Cache.hpp"]
    sites = json.loads(files["sites.json"])
    actions = json.loads(files["metadata.json"])["actions"]
    used = {int(each) for each in re.findall(r"x\.site = (\d+)|", text) if each}
    assert used and max(used) < len(sites)
    assert all(sites[each][0] == "Frame.sm" and sites[each][1] > 0 for each in used)
    named = {int(each) for each in re.findall(r"x\.action = (\d+)", text)}
    assert {actions[each] for each in named} >= {"a_act"}
    assert [sites[each][2] for each in used].count("a_act") >= 1


def test_line_directives_lead_back_and_forth() -> None:
    """A line behind directives is where they say, and text between functions is its own file's."""
    files = made("T.deallocate(address);\ntbe.n := 1;\n\ntbe.n := 2;").files
    text = files["L1Cache.hpp"].split("\n")
    place: tuple[str, int] | None = None
    for number, line in enumerate(text, start=1):
        if line.startswith("#line"):
            _, where, file = line.split(" ")
            place = (file.strip('"'), int(where))
            continue
        if place is not None and place[0] == "L1Cache.hpp":
            assert place[1] == number
        if place is not None:
            place = (place[0], place[1] + 1)


def test_the_host_learns_which_objects_a_machine_needs() -> None:
    machines = json.loads(made().files["metadata.json"])["machines"]
    assert machines[0]["required"] == ["cache"]
    asked = made("if (is_valid(cache)) { cache.profileDemandHit(); }").files["metadata.json"]
    assert json.loads(asked)["machines"][0]["required"] == []


def test_same_input_same_bytes() -> None:
    """Also in a process that hashes differently."""
    code = (
        "from slicc.codegen.cpp import generate; "
        "from tests.slicc.codegen.sample_ir import PROTOCOL; "
        "import hashlib; print(hashlib.sha256(repr(generate(PROTOCOL)).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_no_place_of_this_machine_shows() -> None:
    for text in generate(compiled("tbe.n := 1;")).values():
        assert str(ROOT) not in text
