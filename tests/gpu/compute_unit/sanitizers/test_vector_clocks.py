"""Which order and scope a report says is missing, by what two or three waves did."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gpu.compute_unit.sanitizers.vector_clocks import Knowledge
from gpu.compute_unit.wave.wavefront import Wavefront


class _Wave:
    group = None


def _waves(*groups: int) -> list[Knowledge]:
    wave = cast(Any, _Wave())
    return [Knowledge(number, cast(Wavefront, wave), g, {}) for number, g in enumerate(groups)]


@pytest.mark.parametrize(("group", "scope"), [(0, "work-group"), (1, "agent")])
def test_a_load_that_is_not_waited_for(group: int, scope: str) -> None:
    first, second = _waves(0, group)
    first.waited(stores=True)
    second.read(first.publish())
    text = second.missing(0, 1, first)
    assert text.startswith(f"acquire at {scope} scope instead of relaxed")
    second.waited(stores=False)
    second.invalidated()
    assert second.seen[0] >= 1


def test_a_release_that_the_acquire_does_not_mend() -> None:
    first, second = _waves(0, 1)
    second.read(first.publish())
    second.waited(stores=False)
    assert second.missing(0, 1, first).startswith("release and acquire at agent scope")
    second.invalidated()
    assert second.missing(0, 1, first).startswith(
        "release at agent scope instead of work-group or relaxed"
    )


def test_the_scope_is_that_of_the_step_that_lacks_it() -> None:
    """The first and the last wave share a group; the one between them, that both synchronise
    with, is of another."""
    first, between, last = _waves(0, 1, 0)
    first.waited(stores=True)
    between.read(first.publish())
    between.waited(stores=False)
    between.invalidated()
    last.read(between.publish())
    last.waited(stores=False)
    assert 0 not in last.seen
    assert last.missing(0, 1, first).startswith(
        "acquire at agent scope instead of work-group or relaxed"
    )


@pytest.mark.parametrize(("group", "scope"), [(0, "work-group"), (1, "agent")])
def test_nothing_between_them(group: int, scope: str) -> None:
    first, second = _waves(0, group)
    text = second.missing(0, 1, first)
    assert f"an acquire before the second at {scope} scope, on one atomic" in text
    assert ("barrier" in text) is (group == 0)
