"""A pause of the collector ends with its block, also by an error and within another pause."""

from __future__ import annotations

import gc

import pytest

from slicc.text.garbage import uncollected


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
