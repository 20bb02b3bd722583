"""What a coverage file knows of transitions, as hints behind them.

Names decide: while a protocol is edited its text is never the one that was run. Invariant: a file
that cannot be read gives no hints and is reported once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from slicc.coverage.cells import Cells, Status
from slicc.coverage.file import CoverageError, read_cells
from slicc.editor.positions import real
from slicc.editor.snapshot import Snapshot
from slicc.ir import Machine, Transition
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_LOG = logging.getLogger(__name__)
_LISTED = 12


@dataclass(frozen=True, slots=True)
class Hint:
    """``text`` behind ``span``; ``detail``: by cell, one a line."""

    span: Span
    text: str
    detail: str


@dataclass(slots=True)
class CoverageFile:
    """A coverage file, read again when it was written again."""

    path: Path
    _stamp: tuple[int, int] | None = field(default=None)
    _cells: Cells | None = field(default=None)

    def cells(self) -> Cells | None:
        """What the file says now; None if it says nothing."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            stamp = (0, -1)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._cells = read_cells(self.path)
            except CoverageError as error:
                _LOG.warning("%s", error)
                self._cells = None
        return self._cells


def hints(snapshot: Snapshot, path: str, file: CoverageFile) -> Iterator[Hint]:
    """The hints for one file, in the order of its transitions."""
    cells, protocol = file.cells(), snapshot.protocol
    if cells is None or protocol is None or cells.protocol != protocol.name:
        return
    for machine in protocol.machines:
        if machine.name in cells.machines:
            for transition in machine.transitions:
                if not transition.stalls and real(transition.span.file.name) == path:
                    yield _hint(cells, machine, transition)


def _hint(cells: Cells, machine: Machine, transition: Transition) -> Hint:
    known = cells.machines[machine.name]
    pairs = [(state, event) for state in transition.states for event in transition.events]
    counted = [pair for pair in pairs if pair in known.counts]
    missing = [pair for pair in counted if cells.status(machine.name, pair) is not Status.HIT]
    lines = [f"{', '.join(pair)}: {cells.note(machine.name, pair)}" for pair in counted]
    if not counted:
        text = "not in the coverage file"
    elif len(counted) == 1:
        text = cells.note(machine.name, counted[0])
    elif missing:
        text = f"{len(missing)} of {len(counted)} cells not hit"
    else:
        text = f"hit {sum(known.counts[pair] for pair in counted):,} times"
    more = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return Hint(transition.span, text, "\n".join([*lines[:_LISTED], *more]))
