"""What nothing causes is computed once for a text, and never for another text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from protocols import unsent
from protocols.loader import LoadedProtocol, load_protocol
from protocols.unsent import unsent_cells
from slicc.analysis import sent
from slicc.compiler import compile
from tests.planted.bugs import BY_NAME

PRESENT = ("L1Cache", "Directory")


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedProtocol:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return load_protocol(str(BY_NAME["mi-two-owners"].plant(tmp_path)))


def test_the_answer_is_that_of_the_analysis_and_is_kept(
    loaded: LoadedProtocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = sent.unsent(compile(loaded.identity.path).protocol, PRESENT)
    assert ("I", "DMA_READ") in known["Directory"]
    assert unsent_cells(loaded, PRESENT) == known
    Path(loaded.identity.path).write_text("other", encoding="utf-8")

    def refuse(*given: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(unsent, "compiled_again", refuse)
    assert unsent_cells(loaded, PRESENT[::-1]) == known


def test_it_depends_on_the_machines_that_are_there(loaded: LoadedProtocol) -> None:
    assert unsent_cells(loaded, PRESENT)["Directory"]
    whole = unsent_cells(loaded, (*PRESENT, "DMA"))
    assert whole == dict.fromkeys((*PRESENT, "DMA"), frozenset())


def test_there_is_none_for_a_text_that_is_another_now(
    loaded: LoadedProtocol, tmp_path: Path
) -> None:
    changed = replace(loaded, identity=replace(loaded.identity, digest="0" * 16))
    assert unsent_cells(changed, PRESENT) == {}
    gone = replace(changed, texts=None, identity=replace(changed.identity, path="gone.slicc"))
    assert unsent_cells(gone, PRESENT) == {}
    assert not list(tmp_path.rglob("unsent-*"))


def test_what_was_kept_and_is_damaged_is_made_anew(loaded: LoadedProtocol, tmp_path: Path) -> None:
    known = unsent_cells(loaded, PRESENT)
    [kept] = tmp_path.rglob("unsent-*")
    kept.write_bytes(b"{}")
    assert unsent_cells(loaded, PRESENT) == known != {}
