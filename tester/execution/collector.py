"""Python's collector of cycles while legs run: they make much garbage and few cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def tune_collector() -> None:
    """Let the collector look less often in this process."""
    gc.set_threshold(100_000, 50, 100)


@contextmanager
def few_collections() -> Iterator[None]:
    """As `tune_collector`, for a while, in a process that belongs to another program."""
    before = gc.get_threshold()
    tune_collector()
    try:
        yield
    finally:
        gc.set_threshold(*before)
