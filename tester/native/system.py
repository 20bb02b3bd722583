"""A system of the native engine with the tester's agents and its checker compiled in.

Invariant: programs lie outside of the block and never change.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from runtime.native.build import Clients
from runtime.native.ctypes_api import Library
from runtime.native.plan import Words
from runtime.native.plan_words import NONE
from runtime.native.system import NativeSystem, RunStatus
from slicc.text.lazy_dataclass import dataclass
from tester.native.program import ProgramView, ViewStruct

_U64 = ctypes.c_uint64
_I64 = ctypes.c_int64
_BLOCK = ctypes.c_void_p
_WORDS = ctypes.c_void_p
_VIEWS = ctypes.POINTER(ViewStruct)

TESTER_CLIENTS: Final = Clients(
    "execution/access_state.hpp",
    "calls/api.hpp",
    Path(__file__).parents[1] / "native" / "cpp",
    {
        "add_driver": (_I64, (_BLOCK, _VIEWS, ctypes.c_uint32, _WORDS, _WORDS, _U64)),
        "add_flusher": (_I64, (_BLOCK, ctypes.c_uint32, _WORDS, _U64, _U64)),
        "run_slices": (_I64, (_BLOCK, _VIEWS, _U64, _U64, _U64, _U64, _WORDS)),
        "lane_accesses": (_U64, (_BLOCK,)),
        "finding": (None, (_BLOCK, _WORDS)),
        "statistics": (None, (_BLOCK, _U64, _WORDS)),
        "flushers_left": (_U64, (_BLOCK,)),
        "overdue": (_I64, (_BLOCK, _VIEWS, _U64)),
        "stuck": (_I64, (_BLOCK, _VIEWS)),
        "finish": (_I64, (_BLOCK, _VIEWS)),
        "refused": (_I64, (_BLOCK,)),
        "resume_leg": (_I64, (ctypes.c_void_p, ctypes.c_void_p, _WORDS)),
        "add_counts": (None, (_BLOCK, _WORDS)),
        "run_legs": (_U64, (ctypes.c_void_p, _U64, ctypes.c_void_p, _U64, _WORDS, _WORDS)),
    },
)
"""Agents of a program, flushers and the checker."""


@dataclass(frozen=True, slots=True)
class NativeFinding:
    """What the checker found. ``verdict`` counts the members of
    ``tester.execution.events.Verdict``.
    """

    verdict: int
    tick: int
    identity: int
    index: int
    address: int
    size: int
    expected: int
    got: int
    role: int
    kind: int


class DriverWords(NamedTuple):
    """What one driver has counted: see ``tester.execution.driver``."""

    completed: int
    live: int
    live_time: int
    handover_time: int
    agent_time: int
    end: int
    finished: int


class TesterSystem(NativeSystem):
    """A started system at tick 0, for programs. ``library`` is for TESTER_CLIENTS.

    Drivers and flushers begin in the tick after they were added.
    """

    def __init__(self, library: Library, plan: Words) -> None:
        super().__init__(library, plan)
        self._views: list[ProgramView] = []
        self._view = (ViewStruct * 1)()

    def add_driver(
        self,
        view: ProgramView,
        role: int,
        requesters: Sequence[int],
        steps: Sequence[int],
        first_identity: int,
    ) -> int:
        """Let agents run a program; agent i uses requester ``requesters[i]``.

        ``role`` is that of its loads and stores (``tester.execution.events.Role``); ``steps[i]``: 1
        for flushing, 2 for invalidating at hand-overs, 4 for values that are not checked,
        8 times the rule for racing loads (`tester.execution.early_loads.EarlyRule`). Returns the
        driver's number.
        """
        ports = np.array(requesters, np.uint32)
        bits = np.array(steps, np.uint8)
        number = self.library.add_driver(
            self._at,
            ctypes.byref(view.struct),
            role,
            ports.ctypes.data,
            bits.ctypes.data,
            first_identity,
        )
        self._judge_addition(number)
        self._views.append(view)
        self._view = (ViewStruct * len(self._views))(*(each.struct for each in self._views))
        return number

    def add_flusher(self, requester: int, lines: Sequence[int], first_identity: int) -> int:
        """Flush lines through a requester. Returns the flusher's number."""
        array = np.array(lines, np.uint64)
        number = self.library.add_flusher(
            self._at, requester, array.ctypes.data, len(array), first_identity
        )
        self._judge_addition(number)
        return number

    def run_slices(
        self, driver: int, until: int, ticks: int, limit: int, slices: int
    ) -> tuple[int, int]:
        """Run slices of ``ticks`` ticks until the driver has finished, looking after each for
        requests that are ``limit`` ticks overdue; no more than ``slices``.

        ``until``: the end of the slice before; returns that of the last one beside the status.
        Raises PoolExhausted.
        """
        end = np.array([until], np.uint64)
        status = self.library.run_slices(
            self._at,
            self._view,
            driver,
            ticks,
            limit,
            slices,
            end.ctypes.data,
        )
        if status == RunStatus.EXHAUSTED:
            self.judge_pools()
        return status, int(end[0])

    @property
    def lane_accesses(self) -> int:
        return self.library.lane_accesses(self._at)

    @property
    def flushers_left(self) -> int:
        """Flushers that have not finished."""
        return self.library.flushers_left(self._at)

    def refused(self) -> int | None:
        """An agent that was refused and never asked to retry."""
        agent = self.library.refused(self._at)
        return None if agent < 0 else agent

    def statistics(self, driver: int) -> DriverWords:
        out = self._read(7, self.library.statistics, driver)
        return DriverWords(*out)

    def finding(self) -> NativeFinding | None:
        """What the checker found; None: nothing."""
        out = self._read(10, self.library.finding)
        if not out[0]:
            return None
        index = -1 if out[3] == NONE else out[3]
        address = -1 if out[4] == NONE else out[4]
        size, expected, got, role, kind = out[5:]
        return NativeFinding(
            out[0] - 1, out[1], out[2], index, address, size, expected, got, role, kind
        )

    def overdue(self, limit: int) -> bool:
        """Whether there is a finding now, after a look at the oldest requests."""
        return bool(self.library.overdue(self._at, self._view, limit))

    def stuck(self) -> bool:
        """Whether there is a finding when nothing moves any more."""
        return bool(self.library.stuck(self._at, self._view))

    def finish(self) -> bool:
        """Whether there is a finding when all should be answered."""
        return bool(self.library.finish(self._at, self._view))
