"""Which transitions follow each other in a leg: what a campaign is guided by.

Cells are soon all executed; what is left to find is in which order. A pair is a transition and the
next one on the same line, either of the same controller (*own*), or of any controller (*line*).
Invariant: the pairs of a leg depend on its transitions alone; numbers of pairs depend on the
protocol alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import SystemDescription
from runtime.native.system import StepWord
from tester.native.transition_log import Rows

Numbers = npt.NDArray[np.int64]
_Keys = npt.NDArray[np.integer[Any]]
_FLAGS: Final = 1 << 22
"""Pairs that are marked in an array, rather than sorted."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Numbers of the pairs of one leg, ascending."""

    own: Numbers
    line: Numbers


NO_PAIRS: Final = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))


class PairFinder:
    """Numbers the cells of a protocol: a pair is ``before * cells + after``."""

    def __init__(self, info: ProtocolInfo) -> None:
        self._machines = [machine.MACHINE for machine in info.machines]
        self._events = [machine.EVENTS.NUM + 1 for machine in info.machines]
        sizes = [
            (machine.STATES.NUM + 1) * events
            for machine, events in zip(info.machines, self._events)
        ]
        self._first = np.cumsum([0, *sizes])[:-1]
        self._number = np.full(sum(sizes), -1, np.int64)
        places = [
            int(first) + state * events + event
            for first, events, machine in zip(self._first, self._events, info.machines)
            for state, event in sorted(machine.TRANSITIONS)
        ]
        self.cells: Final = len(places)
        self._number[places] = np.arange(self.cells)

    def pairs(self, rows: Rows, description: SystemDescription) -> Pairs:
        """The pairs of transitions of a leg on a system so described."""
        table = rows.astype(np.int64)
        controller = table[:, StepWord.CONTROLLER]
        line = _compact(table[:, StepWord.ADDRESS] >> 3)
        place = self._place_of(controller, description)
        number = self._number[
            place[0] + table[:, StepWord.STATE] * place[1] + table[:, StepWord.EVENT]
        ]
        order = np.argsort(line, kind="stable")
        line, controller, number = line[order], controller[order], number[order]
        on_line = self._following(number, [line])
        order = np.argsort(controller.astype(np.uint16), kind="stable")
        own = self._following(number[order], [line[order], controller[order]])
        return Pairs(own, on_line)

    def _place_of(
        self, controller: Numbers, description: SystemDescription
    ) -> tuple[Numbers, Numbers]:
        """First cell and events of each row's machine."""
        counts = [len(description.instances_of(name)) for name in self._machines]
        first = np.repeat(self._first, counts)
        events = np.repeat(np.array(self._events, np.int64), counts)
        return first[controller], events[controller]

    def _following(self, number: Numbers, keys: Sequence[_Keys]) -> Numbers:
        alike = (number[:-1] >= 0) & (number[1:] >= 0)
        for key in keys:
            alike &= key[:-1] == key[1:]
        pairs = number[:-1][alike] * self.cells + number[1:][alike]
        if self.cells * self.cells > _FLAGS:
            return np.unique(pairs)
        seen = np.zeros(self.cells * self.cells, np.bool_)
        seen[pairs] = True
        return np.flatnonzero(seen)


def _compact(lines: Numbers) -> _Keys:
    """Small numbers for lines that lie close together: those are sorted in linear time."""
    if not len(lines):
        return lines
    near: Numbers = lines - lines.min()
    return near.astype(np.uint16) if int(near.max()) < 1 << 16 else near
