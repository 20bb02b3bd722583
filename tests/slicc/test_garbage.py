"""A pause of the collector ends with its block, also by an error and within another pause."""

from __future__ import annotations

import gc
import weakref

import pytest

from slicc.garbage import collect_all, set_aside, uncollected


def test_the_collector_is_as_before() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_a_pause_within_a_pause_ends_with_the_outer() -> None:
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


class Node:
    """Keeps itself."""

    def __init__(self) -> None:
        self.me = self


def test_what_is_set_aside_is_collected_later() -> None:
    kept = weakref.ref(node := Node())
    set_aside()
    del node
    try:
        gc.collect()
        assert kept() is not None, "it was set aside"
        collect_all()
        assert kept() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.freeze()  # as the suite has what collecting its tests made
