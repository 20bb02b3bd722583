"""A defect is that of a text, not of everything that has its states and events."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from protocols.compile_cache import Front, generate
from protocols.known_defects import concerned, may_show
from runtime.description import DefectDescription
from slicc.compiler import compile

NEEDS = DefectDescription(what="it", needs=("Directory.M.PUTX",))
LACKS = DefectDescription(what="it", lacks=("Directory.MI.PUTX",))


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
        ([(TRANSITION, "transition(M, PUTX, IM) {")], (False, True)),
        ([("transition(MI, Memory_Ack, I) {", "transition(MI, Memory_Ack, ID) {")], (True, False)),
        (
            [("out_msg.Type := ForwardType:WB_ACK;", "out_msg.Type := ForwardType:FWD;")],
            (False, True),
        ),
    ],
    ids=["as it is", "a comment", "another next state", "another row of the state", "a statement"],
)
def test_only_a_text_whose_transitions_are_the_same(
    edits: list[tuple[str, str]], same: tuple[bool, bool], tmp_path: Path
) -> None:
    (tmp_path / "known").mkdir()
    (tmp_path / "mine").mkdir()
    known = front(tmp_path / "known")
    mine = front(tmp_path / "mine", *edits)
    for defect, expected in zip((NEEDS, LACKS), same):
        assert may_show(defect, mine.info, mine.bodies), "the table alone fits"
        digest = concerned(defect, known.info, known.bodies)
        exact = DefectDescription(what="it", needs=defect.needs, lacks=defect.lacks, same=digest)
        assert may_show(exact, known.info, known.bodies)
        assert may_show(exact, mine.info, mine.bodies) == expected
