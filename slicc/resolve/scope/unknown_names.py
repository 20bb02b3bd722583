"""Names that were asked for and are not there.

A slip in a declaration is one mistake, however often the name is used; a slip in a use may have
been made in several places. So a missing name is reported where it is first met, and the other
places are shown with it. Invariant: nobody has to compile twice to find all uses of one name.
"""

from __future__ import annotations

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import Span


class Misses:
    """The missing names of one scope or body."""

    def __init__(self, sink: DiagnosticSink) -> None:
        self._sink = sink
        self._positions: dict[tuple[str, str], int] = {}

    def first(self, kind: str, name: str, span: Span) -> bool:
        """Whether nobody has asked for it before: then the caller reports it, at once."""
        key = (kind, name)
        position = self._positions.get(key)
        if position is None:
            self._positions[key] = len(self._sink.diagnostics)
            return True
        self._sink.add_place(position, span)
        return False
