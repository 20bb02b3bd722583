"""Lines about what a device does, for a user who follows it.

Invariant: a trace changes nothing; equal runs give equal lines. Callers test one attribute first,
so that a trace that is off costs a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

KINDS: Final = ("waves", "memory", "packets")


class Trace:
    """``waves``: every instruction, and where waves begin and end. ``memory``: every access when
    it is sent and when it has returned. ``packets``: what the front end does. ``write`` is given
    one line without its end. Raises ValueError for other kinds.
    """

    def __init__(self, kinds: Iterable[str], write: Callable[[str], None]) -> None:
        wanted = list(kinds)
        for kind in wanted:
            if kind not in KINDS:
                raise ValueError(f"no trace of `{kind}`; there are {', '.join(KINDS)}")
        self.waves = "waves" in wanted
        self.memory = "memory" in wanted
        self.packets = "packets" in wanted
        self._write = write

    def line(self, tick: int, who: str, text: str) -> None:
        """Something happened at a tick."""
        self._write(f"{tick:>10} {who}: {text}")
