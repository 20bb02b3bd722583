"""The legs of a campaign that is kept in a directory, from the first that is not there on.

Workers run legs in any order; here their records are taken in the order of the numbers, compared
with all before, and committed in batches. Invariant: what is stored after n legs is the same
wherever, with however many workers and after however many interruptions they were run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Protocol

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import Campaign
from tester.campaign.drawing import profile_schedule
from tester.campaign.drawing.options import NO_END, Options
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign.workers import Deal, LegResult
from tester.campaign_directory.failures import FailureLog
from tester.campaign_directory.guidance import Guide
from tester.campaign_directory.leg_task import LegRecord, LegRunner, LegTask
from tester.campaign_directory.store import LINE, OWN, FailureRow, LegRow, Store
from tester.campaign_directory.transition_pairs import Numbers, PairFinder
from tester.engines.selection import Chosen
from tester.profiles import machine_roles
from tester.profiles.profiles import DEFAULT

_BATCH_SECONDS: Final = 0.5
"""A batch of legs is committed at least so often."""
_BATCH_LEGS: Final = 64


class Crew(Protocol):
    """Runs tasks somewhere; records come in the order of the legs."""

    def results(self, first: int, deal: Deal) -> Iterator[LegResult]: ...


@dataclass(slots=True)
class Progress:
    """How far the whole campaign is, and this session."""

    legs: int = 0
    episodes: int = 0
    transitions: int = 0
    cells: int = 0
    own: int = 0
    line: int = 0
    failing_legs: int = 0
    session_legs: int = 0
    session_episodes: int = 0


class _Seen:
    """Pairs of one scope that were seen by now."""

    def __init__(self, cells: int, known: Numbers) -> None:
        self._flags = np.zeros(cells * cells, np.bool_)
        self._flags[known] = True

    def new(self, pairs: Numbers) -> Numbers:
        """The pairs that were not seen; they are from now on."""
        found = pairs[~self._flags[pairs]]
        self._flags[found] = True
        return found


class LegSeries:
    """``guided``: whether legs are dealt by what was new. ``on_failure``: called with each cause
    when it is found, and whether it is a new one."""

    def __init__(
        self,
        store: Store,
        protocol: LoadedProtocol,
        options: Options,
        engine: Chosen,
        failures: FailureLog,
        *,
        guided: bool,
        on_failure: Callable[[FailureRow, LegRecord, bool], None] = lambda *_: None,
    ) -> None:
        self._store = store
        self._protocol = protocol
        self._options = replace(options, episodes=NO_END)
        self._engine = engine
        self._failures = failures
        self._on_failure = on_failure
        self._first = store.next_leg()
        self.guide = self._resumed_guide() if guided else None
        cells = PairFinder(protocol.info).cells
        own, line = store.pairs(OWN), store.pairs(LINE)
        self._own, self._line = _Seen(cells, own), _Seen(cells, line)
        self._batch: list[LegRow] = []
        self._committed = time.monotonic()
        self._began = self._committed - store.elapsed()
        self._hit = store.hit_cells()
        failing = store.rows("SELECT count(failure), sum(transitions) FROM legs")[0]
        self.progress = Progress(
            self._first,
            store.episodes(),
            failing[1] or 0,
            len(self._hit),
            len(own),
            len(line),
            failing[0],
        )

    def _resumed_guide(self) -> Guide:
        """The guide as it was before the first leg that is to be run."""
        system = self._protocol.description
        gpu, bus = machine_roles.has_gpu(system), machine_roles.has_bus(system)
        ahead = machine_roles.has_prefetcher(self._protocol.accepted)
        profile = self._options.profile
        rotation = profile_schedule.rotation(gpu, bus, ahead)
        deck = rotation if profile == DEFAULT else (Turn(profile),)
        guide = Guide(Prng(self._options.seed).fork("guide"), deck, self._options.fixed)
        first = Guide.first_of_use(self._first)
        guide.skip(first)
        for found in self._store.yields(first):
            guide.learn(found)
        return guide

    # ------------------------------------------------------------------ legs

    def deal(self, number: int) -> LegTask | None:
        """The task of a leg; None: it depends on legs that are not taken yet."""
        if self.guide is None:
            return LegTask(number)
        return LegTask(number, self.guide.turn(number)) if self.guide.knows(number) else None

    def run(self, crew: Crew, goes_on: Callable[[], bool]) -> None:
        """Until ``goes_on`` says no. What was taken is committed whatever ends it.

        Raises StoreError, OutOfTime, WorkerDied, EngineDisagreement, ReplayError, OSError.
        """
        if not goes_on():
            return
        try:
            for result in crew.results(self._first, self.deal):
                self._engine.update()
                self._take(self._whole(result))
                if not goes_on():
                    break
        finally:
            self.commit()

    def commit(self, failures: tuple[FailureRow, ...] = ()) -> None:
        """Raises StoreError."""
        if self._batch:
            self._store.add(self._batch, failures)
            self._batch = []
        self._committed = time.monotonic()

    def _whole(self, result: LegResult) -> LegRecord:
        """A record; what a worker could not do is done again here, and raises here."""
        if isinstance(result, LegRecord):
            return result
        task = self.deal(result.number)
        assert task is not None, "it was dealt"
        return LegRunner(self._protocol, self._options, self._engine).run(task)

    def _take(self, record: LegRecord) -> None:
        own, line = self._own.new(record.pairs.own), self._line.new(record.pairs.line)
        row = LegRow(record, own, line, time.monotonic() - self._began)
        new: tuple[FailureRow, ...] = ()
        if record.kind:
            self.commit()  # to find the cause takes long
            cause, is_new = self._failures.cause_of(self._campaign(), record)
            row = replace(row, failure=cause.id)
            new = (cause,) if is_new else ()
            self._on_failure(cause, record, is_new)
        self._batch.append(row)
        self._count(row)
        if self.guide is not None:
            self.guide.learn(row.found)
        waited = time.monotonic() - self._committed
        if new or waited >= _BATCH_SECONDS or len(self._batch) >= _BATCH_LEGS:
            self.commit(new)

    def _campaign(self) -> Campaign:
        return Campaign(self._protocol, self._options, self._engine)

    def _count(self, row: LegRow) -> None:
        record, progress = row.record, self.progress
        assert record.totals is not None and record.coverage is not None
        for name, machine in record.coverage.machines.items():
            self._hit.update(
                (name, machine.states[s], machine.events[e])
                for (s, e), count in machine.counts.items()
                if count
            )
        progress.legs += 1
        progress.session_legs += 1
        progress.episodes += record.totals.episodes
        progress.session_episodes += record.totals.episodes
        progress.transitions += record.transitions
        progress.cells = len(self._hit)
        progress.own += len(row.new_own)
        progress.line += len(row.new_line)
        progress.failing_legs += bool(record.kind)
