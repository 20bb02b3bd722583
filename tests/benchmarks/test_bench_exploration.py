"""The model that Rumur checks is right, and Rumur would see if it were not (``-m explore``)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.benchmarks.bench_exploration import MODEL, Failed, checked, checker

pytestmark = [
    pytest.mark.explore,
    pytest.mark.skipif(
        shutil.which("rumur") is None or shutil.which("gcc") is None, reason="needs rumur and gcc"
    ),
]


def test_the_model_is_explored(tmp_path: Path) -> None:
    found = checked(checker(MODEL, tmp_path))
    assert (found.states, found.steps) == (108_629, 371_500)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("dir[l].acks := readers(l);", "dir[l].acks := 0;"),
        ("case Inv:", "case Inv: if copies[c][l].state = S then pop_order(c, l); return; end;"),
        ("write_memory(l, between[c][l].requestValue);", "write_memory(l, 0);"),
    ],
    ids=["nobody is waited for", "a reader stays", "a write-back is lost"],
)
def test_a_wrong_model_fails(right: str, wrong: str, tmp_path: Path) -> None:
    text = MODEL.read_text(encoding="utf-8")
    assert text.count(right) == 1
    model = tmp_path / "wrong.m"
    model.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(Failed):
        checked(checker(model, tmp_path))
