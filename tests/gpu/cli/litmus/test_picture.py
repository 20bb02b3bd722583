"""``gcn litmus --show``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from gpu.cli.litmus.picture import picture
from gpu.litmus.messages import Accessed, Sent, Watched
from tests.gpu.cli.calling import gcn

SVG = "{http://www.w3.org/2000/svg}"


def _drawn(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_each_event_is_drawn() -> None:
    events = [
        Accessed(5, "A", "store x = 1"),
        Accessed(5, "A", "store y = 1"),
        Sent(6, 9, "A", "B", "WriteThrough x = 1"),
    ]
    drawn = _drawn(picture("a & b", Watched((), events, {"A": "A P0", "B": "B x"})))
    texts = [each.text for each in drawn.iter(f"{SVG}text")]
    assert texts[0] == "a & b"
    assert {"A P0", "B x", "5", "6", "9", "WriteThrough x = 1"} <= set(texts)
    stores = [each for each in drawn.iter(f"{SVG}text") if (each.text or "").startswith("store")]
    assert len({each.get("y") for each in stores}) == 2
    (arrow,) = (each for each in drawn.iter(f"{SVG}line") if each.get("class") == "message")
    assert float(arrow.get("y1") or 0) < float(arrow.get("y2") or 0)


def test_weak_outcomes_are_drawn(tmp_path: Path) -> None:
    answer = gcn(
        "litmus", "MP+relaxed+agent", "cas", "--runs", "1", "--show", str(tmp_path / "new")
    )
    assert (answer.status, answer.err) == (0, "")
    (path,) = (tmp_path / "new").iterdir()
    assert f"  drawn in {path}" in answer.out.splitlines()
    title = _drawn(path.read_text()).findtext(f"{SVG}title")
    assert title == "MP+relaxed+agent, gfx803: P1:r0=1; P1:r1=0 (weak)"


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    answer = gcn("litmus", "cas", "--show", str(file / "below"))
    assert (answer.status, answer.out) == (2, "")
    assert "--show: " in answer.err and "not a directory" in answer.err
