"""Pauses of Python's garbage collector, where much is built and none of it is garbage.

Collecting would walk all that was built again and again. Invariant: after ``uncollected`` the
collector is as it was before, also after an error.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing meanwhile."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def set_aside() -> None:
    """Leave what there is now out of collections, until the next ``collect_all``."""
    gc.freeze()


def collect_all() -> None:
    """Collect what was set aside, too, and set aside what is left."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
