"""A defect is that of a text, not of everything that has its states and events."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from protocols import SYSTEMS, shipped
from protocols.catalog import known_files
from protocols.compile_cache import Front, generate
from protocols.known_defects import concerned, may_show
from runtime.description import DefectDescription, load_description
from slicc.compiler import compile

ROW = DefectDescription(what="it", needs=("Directory.M.PUTX",))
ACTION = DefectDescription(
    what="it", needs=("Directory.M.PUTX.qw_writeMemoryFromRequest",), lacks=("Directory.MI.PUTX",)
)


def front(directory: Path, *edits: tuple[str, str]) -> Front:
    """The shipped MI with these changes of its directory."""
    driver = shipped()["MI"]
    for path in driver.parent.glob("MI*"):
        text = path.read_text(encoding="utf-8")
        if path.name == "MI-dir.sm":
            for old, new in edits:
                assert old in text
                text = text.replace(old, new)
        (directory / path.name).write_text(text, encoding="utf-8")
    return generate(compile(directory / driver.name), native=False)


TRANSITION = "transition(M, PUTX, MI) {"


@pytest.mark.parametrize(
    ("edits", "same"),
    [
        ([], (True, True)),
        ([(TRANSITION, "// a comment\n\n  " + TRANSITION)], (True, True)),
        ([(TRANSITION, "transition(M, PUTX, IM) {")], (False, False)),
        ([("a_sendWritebackAck;\n    c_ownerIsNobody;", "a_sendWritebackAck;")], (False, False)),
        ([("transition(MI, Memory_Ack, I) {", "transition(MI, Memory_Ack, ID) {")], (True, True)),
        ([("    l_popMemQueue;\n    k_wakeWaiting;", "    l_popMemQueue;")], (True, True)),
        (
            [("out_msg.Type := ForwardType:WB_ACK;", "out_msg.Type := ForwardType:FWD;")],
            (False, True),
        ),
        (
            [("out_msg.Type := MemoryRequestType:MEMORY_WB;", "")],
            (False, False),
        ),
    ],
    ids=[
        "as it is",
        "a comment",
        "another next state",
        "an action less",
        "another row of the state",
        "another row's actions",
        "statements of another action of the row",
        "statements of its action",
    ],
)
def test_only_a_text_that_goes_through_the_same_transitions(
    edits: list[tuple[str, str]], same: tuple[bool, bool], tmp_path: Path
) -> None:
    """What else was changed in the states brought the known defect back, and hid the change's."""
    (tmp_path / "known").mkdir()
    (tmp_path / "mine").mkdir()
    known = front(tmp_path / "known")
    mine = front(tmp_path / "mine", *edits)
    for defect, expected in zip((ROW, ACTION), same):
        assert may_show(defect, mine.info, mine.bodies), "the table alone fits"
        digest = concerned(defect, known.info, known.bodies)
        exact = replace(defect, same=digest)
        assert may_show(exact, known.info, known.bodies)
        assert may_show(exact, mine.info, mine.bodies) == expected


def test_what_is_lacked_is_looked_up_in_the_table(tmp_path: Path) -> None:
    """With the rows that are missing the defect is mended; with one of two it is there."""
    known = front(tmp_path)
    there, missing = "Directory.M.PUTX_NotOwner", "Directory.MI.Data"
    for lacks, expected in (((there,), False), ((missing,), True), ((there, missing), True)):
        defect = replace(ROW, lacks=lacks, same=concerned(ROW, known.info, known.bodies))
        assert may_show(defect, known.info, known.bodies) == expected


NEVER_DRIVEN = {
    "GPU_VIPER": {"machine.Scalar"},
    "MOESI_hammer": {"full bit directory"},
}
"""Machines and variants that no leg has: nothing less is known to keep a defect of theirs away."""


@pytest.mark.parametrize("name", sorted(known_files(SYSTEMS)))
def test_a_part_with_a_defect_is_driven_where_the_defect_cannot_show(name: str) -> None:
    """MOESI_CMP_token of gem5 had no engine for DMA in any leg, its MESI_Two_Level no prefetch."""
    description = load_description(known_files(SYSTEMS)[name])
    forced = {
        path: value
        for defect in description.defects
        for path, value in defect.avoid.items()
        if all(way.get(path) == value for way in defect.instead)
    }
    away = {path.removesuffix(".count") for path, value in forced.items() if value == 0}
    away = {machine for machine in away if f"{machine}.count" in forced}
    for variant in description.variants:
        if all(forced.get(path, value) != value for path, value in variant.set.items()):
            away.add(variant.called)
    assert away == NEVER_DRIVEN.get(name, set())


@pytest.mark.parametrize("name", sorted(known_files(SYSTEMS)))
def test_ways_that_are_drawn_together_are_as_many(name: str) -> None:
    """Otherwise one would stand for another than it was written beside."""
    defects = load_description(known_files(SYSTEMS)[name]).defects
    ways = {defect.called: defect.weight + len(defect.instead) for defect in defects}
    for defect in defects:
        if defect.drawn_with:
            assert ways[defect.called] == ways[defect.drawn_with]
