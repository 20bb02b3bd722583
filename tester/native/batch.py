"""Many legs in one call of the native engine: for those that try thousands of small ones.

What a program alone determines (the arrays of its agents, memory at its end, the program that reads
it back) is worked out by compiled code as well, and one block of memory serves all legs of a call.
Invariant: the result of a leg is that of the same leg run alone by
:class:`tester.native.leg.NativeLegRun`, whatever is run before or after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.controller.protocol_info import ProtocolInfo
from runtime.errors import ErrorKind
from runtime.native import system as native_system
from runtime.native.build import Sizes
from runtime.native.ctypes_api import Library
from runtime.native.plan import POOLS
from runtime.native.plan_words import NONE
from runtime.native.row_change import RowChange
from runtime.native.statistics import NativeCounters
from runtime.native.system import CountsTable, RunStatus, zeroed_block
from runtime.statistics.counted import Counted
from slicc.text.lazy_dataclass import dataclass
from tester.execution.driver import Concurrency
from tester.execution.events import KIND_NAMES, Verdict
from tester.execution.handover import HandoverRules
from tester.execution.leg import ERROR_VERDICTS, Outcome
from tester.identity_cache import once_for_the_same
from tester.native.jobs import Job, Log, Memory, SystemForm, job_of
from tester.native.leg import (
    NativeLegRun,
    NativeProtocol,
    kind_of_failure,
    place_of,
)
from tester.native.transition_log import TransitionLog
from tester.program.expectations import BLOCK_EPISODES
from tester.program.replay_file import Leg, with_derived

SMALL_LEG: Final = 1 << 18
"""Lanes of all actions of a leg that is run in one go; what has more shows its progress."""
_CALL: Final = 1 << 18
"""Lanes of all actions in one call: Ctrl-C is handled between two."""
_STEPS: Final = 32
"""Slices of a leg in a call: what takes more is gone on with, and Ctrl-C is handled between two."""
_SHORT_STEPS: Final = 1 << 8
"""And of a leg that is run among others, in a call that is over soon."""
_CHANGED_STEPS: Final = 1 << 10
"""And of a leg with a changed row, which passes in some twenty or not at all."""
_BLOCK: Final = 1 << 27
"""Bytes that a block may have, if the machine has four times as much. Pages that no leg uses cost
nothing."""
_ARENA: Final = 1 << 22
"""Bytes for what programs determine, at first."""
_KEPT: Final = 16
"""Forms of systems that are kept from call to call."""
FAILS: Final = -1
"""In place of the hash of a run's transitions: it does not pass."""
_VERDICTS: Final = tuple(Verdict)
_ERRORS: Final = tuple(ErrorKind)

RulesOf = Callable[[Leg], HandoverRules]
"""The hand-over rules of a leg's agents, which follow from its description."""


class ResultWord(IntEnum):
    """What a call reports about a leg. NONE: not known."""

    STATUS = 0
    VERDICT = 1
    ERROR_KIND = 2
    CONTROLLER = 3
    STATE = 4
    EVENT = 5
    TICK = 6
    TICKS = 7
    TRANSITIONS = 8
    TRACE_HASH = 9
    MEMORY_HASH = 10
    FLUSHED = 11
    LANE_ACCESSES = 12
    EPISODES = 13
    LIVE = 14
    LIVE_TIME = 15
    HANDOVER_TIME = 16
    AGENT_TIME = 17
    END = 18
    ADDRESS = 19
    """That the failure is about."""
    STUCK = 20
    """The kind of the request that a hang leaves without an answer."""


@dataclass(frozen=True, slots=True)
class NativeLegResult:
    """How a leg of a batch ended; `tester.campaign.workers.LegResult` counts it for a campaign.

    ``failure``: what kind of failure, as ``Campaign.failure_of`` names it; empty: it passed.
    """

    failure: str
    episodes: int
    lane_accesses: int
    ticks: int
    transitions: int
    trace_hash: int
    memory_hash: int
    """Of the lines that were written in memory; 0 where the leg was run alone."""
    flushed: bool
    address: int
    """That the failure is about; -1: none."""
    stuck: str
    """Of a hang: the kind of request that has no answer, if one has not."""
    concurrency: Concurrency

    @property
    def ending(self) -> str:
        """The failure, with what is stuck: ``hang store``."""
        return f"{self.failure} {self.stuck}".rstrip()

    @property
    def outcome(self) -> Outcome:
        """The outcome of a leg that has passed, as a leg that runs alone has it."""
        return Outcome(
            None,
            None,
            self.episodes,
            self.lane_accesses,
            self.ticks,
            self.concurrency,
            self.flushed,
        )


class Counts:
    """Executions of transitions of a protocol's machines, over any number of legs.

    ``cells``: the tables of all machines, one behind the other; native code adds to them.
    """

    def __init__(self, info: ProtocolInfo, cells: npt.NDArray[np.uint64] | None = None) -> None:
        self._shapes = _shapes(info)
        self.cells = np.zeros(_size(info), np.uint64) if cells is None else cells

    def add(self, tables: Mapping[str, CountsTable]) -> None:
        """As :func:`tester.native.leg.machine_counts` has them."""
        own = self.tables()
        for name, cells in tables.items():
            own[name].table[:] += cells.table

    def merge(self, other: Counts) -> None:
        """Add those of other legs of the same protocol."""
        self.cells += other.cells

    def tables(self) -> dict[str, CountsTable]:
        """By machine."""
        found, first = {}, 0
        for name, size, stride in self._shapes:
            found[name] = CountsTable(self.cells[first : first + size], stride)
            first += size
        return found


@once_for_the_same(4)
def _shapes(info: ProtocolInfo) -> list[tuple[str, int, int]]:
    """Of each machine's table: name, size and stride."""
    return [
        (kind.MACHINE, (kind.STATES.NUM + 1) * (kind.EVENTS.NUM + 1), kind.EVENTS.NUM + 1)
        for kind in info.machines
    ]


def _size(info: ProtocolInfo) -> int:
    """Cells of all tables."""
    return sum(size for _, size, _ in _shapes(info))


class LegBatch:
    """Runs legs of one protocol, in memory of its own that all calls share."""

    def __init__(self, protocol: NativeProtocol, rules_of: RulesOf) -> None:
        self._protocol = protocol
        self._rules_of = rules_of
        self._block = np.empty(0, np.uint8)
        self._arena = np.empty(0, np.uint8)
        self._grown = np.zeros(len(POOLS), np.uint64)
        self._forms: list[SystemForm] = []
        """Of the legs of this call."""
        self._kept: list[object] = []
        """What the jobs of this call point into, besides the legs."""
        self._library: Library | None = None
        """That of the last call."""
        self._counters: NativeCounters | NativeLegRun | None = None
        """What counts the leg of the last call, if it was counted."""

    def takes(self, leg: Leg) -> bool:
        """Whether a leg is small enough for the memory of a batch."""
        return leg.program.lane_address.size <= SMALL_LEG

    def run(
        self,
        legs: Sequence[Leg],
        counts: Counts | None = None,
        on_progress: Callable[[NativeLegResult], None] | None = None,
        log: TransitionLog | None = None,
        counted: bool = False,
    ) -> list[NativeLegResult]:
        """How each leg ends. What their programs must observe is derived if it is not yet.

        Raises what NativeLegRun and ``rules_of`` raise. What does not fit into the memory of a
        batch is run alone. ``counts``: the transitions of legs that pass are added to them.
        ``on_progress`` is called with what a leg that takes long has done so far; it may raise.
        ``log``: the first transitions of the last leg are written there.
        ``counted``: what the leg, which is the only one, costs is :meth:`counted` afterwards.
        """
        self._reserve()
        found: list[NativeLegResult] = []
        while len(found) < len(legs):
            found += self._call(legs[len(found) :], counts, on_progress, log, counted)
        return found

    def prepare(self, legs: Iterable[Leg]) -> None:
        """Work out what native code needs of systems of legs that will be run soon. Raises what
        `run` raises."""
        for leg in legs:
            self._form_of(leg)

    def run_short(self, legs: Sequence[Leg]) -> list[tuple[NativeLegResult, Counts]]:
        """How the first of some legs end: as many as one call runs none of which takes long; and
        the transitions of each, if it passes. Raises what `run` raises."""
        self._reserve()
        del self._forms[:-_KEPT]
        info = self._protocol.info
        cells = np.zeros((len(legs), _size(info)), np.uint64)
        place, step = cells.ctypes.data, cells.strides[0]
        library, jobs = self._jobs(legs, range(place, place + len(legs) * step, step))
        _, words = self._run_legs(library, jobs, self._memory(_SHORT_STEPS, None))
        found: list[tuple[NativeLegResult, Counts]] = []
        for leg, row, own in zip(legs, words.tolist(), cells):
            if row[ResultWord.STATUS] not in (RunStatus.IDLE, RunStatus.FINDING):
                break
            found.append((self._result(leg, row), Counts(info, own)))
        return found

    def traces(self, leg: Leg, library: Library, changes: Sequence[RowChange]) -> list[int | None]:
        """The hash of a leg's transitions with each of these rows, or FAILS; None: it takes more
        room or time than there is. ``library``: of `Libraries.for_changes`."""
        self._reserve()
        del self._forms[:-_KEPT]
        self._kept.clear()
        job = self._job(leg, self._form_of(leg), None)
        jobs = (Job * len(changes))(*[job] * len(changes))
        for each, change in zip(jobs, changes):
            each.change = ctypes.addressof(change)
        words = np.zeros((len(jobs), len(ResultWord)), np.uint64)
        memory = self._memory(_CHANGED_STEPS, None)
        at = ctypes.addressof(memory)
        done = 0
        more = np.zeros(1, np.uint64)
        while done < len(jobs) and not more[0]:
            left, results = ctypes.addressof(jobs[done]), words[done:].ctypes.data
            rest = (len(jobs) - done, at, _CALL, results, more.ctypes.data)
            done += self.call(library.run_legs, left, *rest)
        known = [
            trace if status == RunStatus.IDLE else FAILS if status == RunStatus.FINDING else None
            for status, trace in words[:done, [ResultWord.STATUS, ResultWord.TRACE_HASH]].tolist()
        ]
        return [*known, *[None] * (len(jobs) - done)]

    def counted(self) -> Counted:
        """What the leg of the last call, which was counted, has cost."""
        assert self._counters is not None, "only a leg that is counted is asked for"
        return self._counters.counted()

    def add_counts(self, counts: Counts) -> None:
        """Add the transitions so far of a leg that was interrupted."""
        assert self._library is not None
        self._library.add_counts(self._block.ctypes.data, counts.cells.ctypes.data)

    def _reserve(self) -> None:
        if not self._block.size:
            free = native_system.available_memory()
            self._block = zeroed_block(min(_BLOCK, _BLOCK if free is None else free // 4))
            self._arena = np.empty(_ARENA, np.uint8)

    def _memory(self, steps: int, log: Log | None) -> Memory:
        """What calls are handed of it."""
        return Memory(
            self._block.ctypes.data,
            self._block.size,
            self._arena.ctypes.data,
            self._arena.size,
            steps,
            self._grown.ctypes.data,
            None if log is None else ctypes.addressof(log),
        )

    def _call(
        self,
        legs: Sequence[Leg],
        counts: Counts | None,
        on_progress: Callable[[NativeLegResult], None] | None,
        log: TransitionLog | None,
        counted: bool,
    ) -> Iterator[NativeLegResult]:
        """The results of the first legs, if there is room for one."""
        del self._forms[:-_KEPT]
        cells = None if counts is None else counts.cells.ctypes.data
        library, jobs = self._jobs(legs, [cells] * len(legs))
        self._library = library
        if not counted:
            self._counters = None
            yield from self._run_jobs(library, jobs, legs, counts, on_progress, log)
            return
        counters = self._counters = self._protocol.counters(legs[0])
        library.count(counters.words.ctypes.data)
        try:
            yield from self._run_jobs(library, jobs, legs, counts, on_progress, log)
        finally:
            library.count(None)

    def _run_jobs(
        self,
        library: Library,
        jobs: list[Job],
        legs: Sequence[Leg],
        counts: Counts | None,
        on_progress: Callable[[NativeLegResult], None] | None,
        log: TransitionLog | None,
    ) -> Iterator[NativeLegResult]:
        rows = None if log is None else Log(log.rows.ctypes.data, len(log.rows), 0)
        memory = self._memory(_STEPS, rows)
        at = ctypes.addressof(memory)
        array, words = self._run_legs(library, jobs, memory)
        if not jobs:  # the first leg is one to be run alone
            words = np.zeros((1, len(ResultWord)), np.uint64)
            words[0, ResultWord.STATUS] = RunStatus.EXHAUSTED
        for number, (leg, row) in enumerate(zip(legs, words.tolist())):
            while row[ResultWord.STATUS] == RunStatus.UNTIL:
                if on_progress is not None:
                    on_progress(self._result(leg, row))
                result = words[number]
                again = self.call(
                    library.resume_leg, ctypes.addressof(array[number]), at, result.ctypes.data
                )
                if again:
                    return  # again, with more of what ran out
                row = result.tolist()
            if row[ResultWord.STATUS] in (RunStatus.IDLE, RunStatus.FINDING):
                if log is not None and rows is not None:
                    log.made = rows.made
                yield self._result(leg, row)
            else:
                yield self._alone(leg, counts, log, self._counters is not None)

    def _run_legs(
        self, library: Library, jobs: list[Job], memory: Memory
    ) -> tuple[ctypes.Array[Job], npt.NDArray[np.uint64]]:
        """Run jobs in one call, in ``memory``. Returns them as one array, and a row of result words
        of each of the first ones, which were run."""
        array = (Job * len(jobs))(*jobs)
        words = np.zeros((len(jobs), len(ResultWord)), np.uint64)
        more = np.zeros(1, np.uint64)
        at, ends = ctypes.addressof(memory), words.ctypes.data
        done = self.call(library.run_legs, array, len(jobs), at, _CALL, ends, more.ctypes.data)
        if more[0]:  # for the leg behind those that are done
            self._arena = np.empty(max(int(more[0]), 2 * self._arena.size), np.uint8)
        return array, words[:done]

    @staticmethod
    def call(function: Callable[..., int], *arguments: Any) -> int:
        """Every call of compiled code that runs legs passes here, for those that measure them."""
        return function(*arguments)

    def _jobs(self, legs: Sequence[Leg], cells: Iterable[int | None]) -> tuple[Library, list[Job]]:
        """Of the legs at the beginning that one call of one object can run. ``cells``: where the
        transitions of each are added up."""
        form = self._form_of(legs[0])
        library = self._protocol.library(form.sizes, legs[0].program.lane_address.size)
        jobs: list[Job] = []
        self._kept.clear()
        size = 0
        for leg, counts in zip(legs, cells):
            size += leg.program.lane_address.size
            if not self.takes(leg) or (jobs and size > _CALL):
                break
            form = self._form_of(leg)
            if not Sizes(library.line_bytes, library.node_words).serve(form.sizes):
                break
            jobs.append(self._job(leg, form, counts))
        return library, jobs

    def _job(self, leg: Leg, form: SystemForm, counts: int | None) -> Job:
        """What the native loops would have to derive in several blocks is derived here."""
        if leg.program.episodes > BLOCK_EPISODES:
            leg = with_derived(leg)
            self._kept.append(leg)
        return job_of(leg, form, counts)

    def _form_of(self, leg: Leg) -> SystemForm:
        for form in reversed(self._forms):
            if form.serves(leg):
                return form
        form = SystemForm(self._protocol, leg, self._rules_of(leg))
        self._forms.append(form)
        return form

    def _alone(
        self, leg: Leg, counts: Counts | None, log: TransitionLog | None, counted: bool
    ) -> NativeLegResult:
        rules = self._form_of(leg).rules
        run = NativeLegRun(with_derived(leg), self._protocol, rules, counts=counted)
        run.steps = None if log is None else []
        outcome = run.run()
        if counted:
            self._counters = run
        if log is not None:
            log.take(run.steps or [])
        if counts is not None and outcome.finding is None:
            counts.add(run.counts())
        finding = outcome.finding
        return NativeLegResult(
            run.failure,
            outcome.episodes,
            outcome.lane_accesses,
            outcome.ticks,
            run.transitions,
            run.system.trace_hash,
            0,
            outcome.flushed,
            -1 if finding is None else finding.address,
            "" if finding is None else finding.stuck,
            outcome.concurrency,
        )

    def _result(self, leg: Leg, row: list[int]) -> NativeLegResult:
        concurrency = Concurrency()
        concurrency.live = row[ResultWord.LIVE]
        concurrency.live_time = row[ResultWord.LIVE_TIME]
        concurrency.handover_time = row[ResultWord.HANDOVER_TIME]
        concurrency.agent_time = row[ResultWord.AGENT_TIME]
        concurrency.end = row[ResultWord.END]
        failure = ""
        if row[ResultWord.STATUS] == RunStatus.FINDING:
            known = {word: None if row[word] == NONE else row[word] for word in ResultWord}
            place = place_of(
                self._protocol.info,
                leg.description,
                known[ResultWord.CONTROLLER] if row[ResultWord.ERROR_KIND] else None,
                known[ResultWord.STATE],
                known[ResultWord.EVENT],
            )
            failure = kind_of_failure(_verdict(row), place)
        return NativeLegResult(
            failure,
            row[ResultWord.EPISODES],
            row[ResultWord.LANE_ACCESSES],
            row[ResultWord.TICKS],
            row[ResultWord.TRANSITIONS],
            row[ResultWord.TRACE_HASH],
            row[ResultWord.MEMORY_HASH],
            bool(row[ResultWord.FLUSHED]),
            -1 if row[ResultWord.ADDRESS] == NONE else row[ResultWord.ADDRESS],
            "" if row[ResultWord.STUCK] == NONE else KIND_NAMES[row[ResultWord.STUCK]],
            concurrency,
        )


def _verdict(row: list[int]) -> Verdict:
    if row[ResultWord.VERDICT]:
        return _VERDICTS[row[ResultWord.VERDICT] - 1]
    return ERROR_VERDICTS.get(_ERRORS[row[ResultWord.ERROR_KIND] - 1], Verdict.PROTOCOL_ERROR)
