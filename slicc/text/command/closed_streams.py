"""Standard streams that are closed when a command starts, as after ``>&-`` and ``2>&-``.

A file opened then would get the number of one, and the output of compiled code and of children with
it. Invariant: once they are replaced, no file of the command has the number 0, 1 or 2.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class Unread(io.FileIO):
    """The null device, which remembers whether something was printed."""

    lost = False

    def write(self, data: Any, /) -> int:
        self.lost = True
        return super().write(data)


def replace_closed() -> Unread | None:
    """Put the null device where a stream is closed; what receives stdout then, None if it is open.

    Nothing printed raises: a run of hours reaches its verdict.
    """
    for number in (0, 1, 2):
        _occupy(number)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(os.devnull)), "utf-8")
    if sys.stderr is None:
        sys.stderr = _writing(io.FileIO(os.devnull, "w"))
    if sys.stdout is not None:
        return None
    unread = Unread(os.devnull, "w")
    sys.stdout = _writing(unread)
    return unread


def _occupy(number: int) -> None:
    """Opening gives the least number that is free; children get it too."""
    try:
        os.fstat(number)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _writing(raw: io.FileIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", write_through=True)
