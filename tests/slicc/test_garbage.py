"""A pause of the collector ends with its block, also by an error and within another pause."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from slicc.garbage import uncollected
from tests.compiling import ROOT


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


SET_ASIDE = """
import gc, weakref
from slicc.garbage import collect_all, set_aside

class Node:
    def __init__(self):
        self.me = self

kept = weakref.ref(node := Node())
set_aside()
del node
gc.collect()
assert kept() is not None, "it was set aside"
collect_all()
assert kept() is None
assert gc.get_freeze_count() > 0
"""


def test_what_is_set_aside_is_collected_later() -> None:
    """In a process of its own: all that a suite has collected is much to look at."""
    subprocess.run([sys.executable, "-c", SET_ASIDE], check=True, cwd=ROOT)
