"""Runs one leg on the native engine: the phases of :mod:`tester.execution.leg`, slice by slice the
same.

Invariant: a leg that passes here has seen the same episodes, drains, comparisons and read-back as
on the Python engine, tick for tick. Faults are not described here: a leg that fails is run again on
the Python engine for its report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import SystemDescription
from runtime.native.build import Sizes
from runtime.native.ctypes_api import Library
from runtime.native.plan import Capacities, Plans
from runtime.native.statistics import NativeCounters
from runtime.native.system import (
    CountsTable,
    NativeError,
    NativeSystem,
    PoolExhausted,
    RunStatus,
    SystemTooLarge,
    enlarged,
    sum_counts,
)
from runtime.statistics.counted import Counted
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import IntArray
from tester.execution.agent import HandoverSteps
from tester.execution.driver import Concurrency
from tester.execution.events import KIND_NAMES, Finding, Role, Verdict
from tester.execution.flush import FLUSHES, READ_BACKS, flush_parts, flushing_requesters, has_flush
from tester.execution.handover import HandoverRules, judged_versions
from tester.execution.leg import DEADLOCK_LIMIT, DRAIN_LIMITS, ERROR_VERDICTS, Outcome, slice_ticks
from tester.native.program import ProgramView
from tester.native.system import NativeFinding, TesterSystem
from tester.program.expectations import touched_lines
from tester.program.final_memory import FinalContents, final_contents
from tester.program.program import Program
from tester.program.read_back import read_back_program
from tester.program.replay_file import Leg

_VERDICTS: Final = tuple(Verdict)
_SPARE_LINES: Final = 64
_SLICES: Final = 32
"""Slices per call: progress is shown, and Ctrl-C handled, some ten times a second."""
_SEEN: Final = "seen by the native engine"


LibraryFor = Callable[[Sizes, int], Library]
"""The object for a system of such sizes and a leg of so many lane accesses."""


class NativeProtocol:
    """A protocol that the native engine can run: its plans and its compiled forms.

    ``grown``: capacities that earlier legs turned out to need, so that later ones start with them.
    """

    def __init__(
        self,
        info: ProtocolInfo,
        plans: Plans,
        library: LibraryFor,
        kinds: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        """``kinds``: of messages, for runs that are counted (`runtime.native.statistics`)."""
        self.info = info
        self.kinds = kinds
        self.plans = plans
        self.library = library
        self.grown = Capacities()

    def system(self, leg: Leg, capacities: Capacities, agents: int) -> TesterSystem:
        """A system at tick 0. Raises SystemTooLarge, NotNative, ToolchainError, CacheError."""
        description = leg.description
        library = self.library(sizes_of(description), leg.program.lane_address.size)
        plan = self.plans.plan(description, leg.run_key, capacities, agents)
        return TesterSystem(library, plan)

    def counters(self, leg: Leg) -> NativeCounters:
        """For a run of the leg."""
        description = leg.description
        census = self.plans.census(description)
        return NativeCounters(census, self.kinds, description.line_size)

    def capacities(self, program: Program, view: ProgramView, lines: int) -> Capacities:
        """How much a leg is likely to need; what turns out too small is doubled later."""
        lanes = sum(agent.lanes for agent in program.agents)
        least = Capacities(
            lines=lines + _SPARE_LINES,
            increments=view.increments + 1,
            words=program.groups + 1,
            flights=128 + 48 * program.agent_count,
            line_requests=512 + 24 * lanes,
            messages=1024 + 8 * lanes,
            atomics=1024 + 8 * lanes,
        )
        return least.at_least(self.grown)


@dataclass(slots=True)
class Drivers:
    """What progress displays and reports ask of the agents."""

    agents: range
    completed: int = 0


class NativeLegRun:
    """One leg while it runs. Same use as :class:`tester.execution.leg.LegRun`, without descriptions
    of faults.
    """

    def __init__(
        self,
        leg: Leg,
        protocol: NativeProtocol,
        rules: HandoverRules,
        on_progress: Callable[[NativeLegRun], None] | None = None,
        *,
        zeroed: bool = False,
        observes: bool = False,
        counts: bool = False,
    ) -> None:
        """``zeroed``: memory begins with zeroes. ``observes``: `returned` is wanted. ``counts``:
        `counted` is; the protocol's objects count then."""
        self.leg = leg
        self._zeroed = zeroed
        self._observes = observes
        self._counts = counts
        self._counters: NativeCounters | None = None
        self.program = leg.program
        self.limit = leg.deadlock_limit
        self.rules = rules
        self.protocol = protocol
        self.outcome = Outcome()
        self.driver = Drivers(range(self.program.agent_count))
        self.error: NativeError | None = None
        self.system: TesterSystem
        self.steps: list[npt.NDArray[np.uint64]] | None = None
        """If there is a list, every transition is added to it (rows as in `run_traced`)."""
        self._exhausted: PoolExhausted | None = None
        self._on_progress = on_progress
        self._transitions = 0

    @cached_property
    def _view(self) -> ProgramView:
        return ProgramView(self.program, self._observes, judged_versions(self.program, self.rules))

    @cached_property
    def _lines(self) -> IntArray:
        return touched_lines(self.program)

    @cached_property
    def capacities(self) -> Capacities:
        return self.protocol.capacities(self.program, self._view, len(self._lines))

    @cached_property
    def _used(self) -> list[int]:
        return flushing_requesters(self.program)

    @cached_property
    def _flushable(self) -> bool:
        return all_flush(self.protocol.info, self.leg.description, self._used)

    def adopt(self, outcome: Outcome, transitions: int) -> None:
        """The leg has been run in a batch, and passed."""
        self.outcome = outcome
        self.driver.completed = outcome.episodes
        self._transitions = transitions

    def run(self) -> Outcome:
        """Run to the end or to the first finding; again from the start where a pool was too small.

        Raises SystemTooLarge when no larger pool fits into memory.
        """
        while True:
            try:
                self._run()
            except PoolExhausted as error:
                self._enlarge(error)
                continue
            finally:
                self.take_stock()
                if self._counters is not None:
                    self.system.count(None)
            return self.outcome

    def _enlarge(self, error: PoolExhausted) -> None:
        self.capacities = enlarged(self.capacities, error)
        grown = getattr(self.capacities, error.pool)
        if error.pool not in ("lines", "increments", "words"):
            self.protocol.grown = replace(self.protocol.grown, **{error.pool: grown})
        self._exhausted = error

    def _run(self) -> None:
        self.outcome = Outcome()
        self.error = None
        if self.steps is not None:
            self.steps.clear()
        self.start()
        if self._run_driver(0) and self._episodes_done() and self._come_to_rest():
            self._compare()

    def _episodes_done(self) -> bool:
        """What follows does not count as a cost of the program."""
        if self._counters is not None:
            self.system.count(None)
        return True

    def start(self) -> TesterSystem:
        """The system at tick 0, with the agents of the program."""
        agents = 2 * self.program.agent_count + len(self._used)
        try:
            system = self.protocol.system(self.leg, self.capacities, agents)
        except SystemTooLarge as error:
            if self._exhausted is None:
                raise
            raise SystemTooLarge(
                f"{self._exhausted}, and a larger one does not fit: {error}"
            ) from None
        self.system = system
        if self._counts:
            self._counters = self.protocol.counters(self.leg)
            system.count(self._counters.words)
        if self._zeroed:
            system.zero_memory()
        steps = self.rules.steps or (HandoverSteps(),) * self.program.agent_count
        system.add_driver(
            self._view,
            Role.ACTION,
            [agent.requester for agent in self.program.agents],
            [step.bits for step in steps],
            0,
        )
        return system

    def counted(self) -> Counted:
        """What the run has cost so far."""
        assert self._counters is not None, "only a run that counts is asked"
        return self._counters.counted()

    def returned(self) -> npt.NDArray[np.uint64]:
        """[A, L]: what loads and atomic operations returned whose values are not checked."""
        return self._view.returned()

    def take_stock(self) -> None:
        """Bring the outcome's figures up to now; for legs that are interrupted."""
        if not self.started:
            return
        system = self.system
        native = system.statistics(0)
        concurrency = Concurrency()
        concurrency.live = native.live
        concurrency.live_time = native.live_time
        concurrency.handover_time = native.handover_time
        concurrency.agent_time = native.agent_time
        concurrency.end = native.end
        self.driver.completed = native.completed
        outcome = self.outcome
        outcome.episodes = native.completed
        outcome.lane_accesses = system.lane_accesses
        outcome.ticks = system.now
        outcome.concurrency = concurrency

    @property
    def started(self) -> bool:
        """Whether there is a system to ask."""
        return hasattr(self, "system")

    @property
    def transitions(self) -> int:
        return self.system.transitions if self.started else self._transitions

    @property
    def place(self) -> str:
        """Machine, state and event where the protocol stopped the run, as far as they are known."""
        error = self.error
        if error is None:
            return ""
        return place_of(
            self.protocol.info, self.leg.description, error.controller, error.state, error.event
        )

    @property
    def failure(self) -> str:
        """What kind of failure the leg ended with; empty: none."""
        finding = self.outcome.finding
        return "" if finding is None else kind_of_failure(finding.verdict, self.place)

    def counts(self) -> dict[str, CountsTable]:
        """Executions of transitions by machine, over all of its controllers."""
        return machine_counts(self.protocol.info, self.leg.description, self.system)

    # ------------------------------------------------------------------ phases; True: continue

    def _run_driver(self, driver: int) -> bool:
        system = self.system
        until = system.now
        finished = False
        while not finished and system.next_tick is not None:
            status, until = self._slices(driver, until)
            if self._judged(status):
                return False
            finished = bool(system.statistics(driver).finished)
            self._show_progress()
        if not finished:
            if not system.stuck() and system.refused() is None:
                waiting = "agents wait for hand-overs although nothing is open"
                raise AssertionError(f"our own bug: {waiting} at {system.now}")
            self._judged(RunStatus.FINDING)
            if self.outcome.finding is None:
                self._found(Verdict.HANG)
            return False
        return True

    def _show_progress(self) -> None:
        if self._on_progress is not None:
            self.driver.completed = self.system.statistics(0).completed
            self._on_progress(self)

    def _slices(self, driver: int, until: int) -> tuple[int, int]:
        """Run on for some slices. (status, end of the last one)"""
        system = self.system
        ticks = slice_ticks(self.limit)
        if self.steps is None:
            return system.run_slices(driver, until, ticks, self.limit, _SLICES)
        until = max(until, system.next_tick or 0) + ticks
        status = self._advance(until)
        if status != RunStatus.FINDING and system.overdue(self.limit):
            status = RunStatus.FINDING
        return status, until

    def _advance(self, until: int) -> int:
        if self.steps is None:
            return self.system.run(until)
        status, rows = self.system.run_traced(until)
        self.steps.append(rows)
        return status

    def _judged(self, status: int) -> bool:
        """Whether there is a fault; if so it is the outcome's."""
        system = self.system
        if status != RunStatus.FINDING:
            return False
        self.error = error = system.error()
        finding = system.finding()
        if finding is not None:
            self.outcome.finding = _finding(finding)
        elif error is not None:
            verdict = ERROR_VERDICTS.get(error.kind, Verdict.PROTOCOL_ERROR)
            self._found(verdict, error.address, error.tick)
        return self.outcome.finding is not None

    def _found(self, verdict: Verdict, address: int | None = None, tick: int | None = None) -> None:
        when = self.system.now if tick is None else tick
        where = -1 if address is None else address
        self.outcome.finding = Finding(verdict, when, _SEEN, address=where)

    def _overdue(self) -> bool:
        return self.system.overdue(self.limit) and self._judged(RunStatus.FINDING)

    def _come_to_rest(self) -> bool:
        system = self.system
        until = system.now + DRAIN_LIMITS * self.limit
        while (tick := system.next_tick) is not None and tick <= until:
            # One call for all of it, but for a limit that was set very high.
            if self._judged(self._advance(min(until, tick + DRAIN_LIMITS * DEADLOCK_LIMIT))):
                return False
            self._show_progress()
        if system.finish() and self._judged(RunStatus.FINDING):
            return False
        if system.next_tick is not None:
            self._found(Verdict.HANG)
        elif system.leaks():
            self._found(Verdict.LEAK)
        return self.outcome.finding is None

    def _compare(self) -> bool:
        if self.rules.blind:
            return True
        final = final_contents(self.program, self._lines)
        return self._flush(final) and self._read_back(final) and self._come_to_rest()

    def _flush(self, final: FinalContents) -> bool:
        if not self._flushable:
            return True
        system = self.system
        for number, (index, part) in enumerate(flush_parts(self.program, final)):
            system.add_flusher(index, part, FLUSHES + (number << 20))
        while (tick := system.next_tick) is not None and system.flushers_left:
            if self._judged(self._advance(max(system.now, tick) + self.limit // 8)):
                return False
            if self._overdue():
                return False
            self._show_progress()
        self.outcome.flushed = True
        return self._come_to_rest() and self._compare_memory(final.addresses, final.contents)

    def _compare_memory(self, addresses: IntArray, contents: np.ndarray) -> bool:
        if self.system.memory_echoes:
            return True
        wrong = memory_contents(self.system, self.program, addresses) != contents
        if wrong.any():
            self._found(Verdict.LOST_WRITE, int(addresses[int(np.argmax(wrong))]))
        return not wrong.any()

    def _read_back(self, final: FinalContents) -> bool:
        rules = self.rules
        program = read_back_program(self.program, final, rules.isolation_groups, rules.reads_back)
        if program is None or self.rules.copies_stay:
            return True
        driver = self.system.add_driver(
            ProgramView(program),
            Role.READ_BACK,
            [agent.requester for agent in program.agents],
            [0] * program.agent_count,
            READ_BACKS,
        )
        return self._run_driver(driver)


def kind_of_failure(verdict: Verdict, place: str) -> str:
    """``undefined-transition L1Cache.SM.Inv``: the verdict, and where the protocol failed."""
    return " ".join(filter(None, (verdict.value, place)))


def place_of(
    info: ProtocolInfo,
    description: SystemDescription,
    controller: int | None,
    state: int | None,
    event: int | None,
) -> str:
    """Machine, state and event, as far as they are known."""
    if controller is None:
        return ""
    kinds = info.machines
    counts = [len(description.instances_of(kind.MACHINE)) for kind in kinds]
    kind = next(k for k, end in zip(kinds, accumulate(counts)) if controller < end)
    names = (
        None if state is None else kind.STATES.name_of(state),
        None if event is None else kind.EVENTS.name_of(event),
    )
    return ".".join(filter(None, (kind.MACHINE, *names)))


def sizes_of(description: SystemDescription) -> Sizes:
    """What the object for such a system must be compiled for."""
    nodes = sum(machine.count or 0 for machine in description.machines.values())
    return Sizes.of(description.line_size, nodes)


def memory_contents(system: NativeSystem, program: Program, addresses: IntArray) -> np.ndarray:
    """What memory holds at the addresses of whole lines, ascending: written or as at first."""
    from runtime.prng import initial_bytes

    size = program.line_size
    contents = initial_bytes(program.run_key, addresses).reshape(-1, size)
    lines = addresses[::size]
    written, held = system.written_lines(size)
    place = np.searchsorted(lines, written.astype(np.int64))
    inside = place < len(lines)
    inside[inside] &= lines[place[inside]] == written.astype(np.int64)[inside]
    contents[place[inside]] = held[inside]
    return contents.ravel()


def machine_counts(
    info: ProtocolInfo, description: SystemDescription, system: NativeSystem
) -> dict[str, CountsTable]:
    """Executions of transitions by machine, over all of its controllers."""
    counts = {}
    first = 0
    for machine in info.machines:
        count = len(description.instances_of(machine.MACHINE))
        if count:
            counts[machine.MACHINE] = sum_counts(system, range(first, first + count))
        first += count
    return counts


def _finding(native: NativeFinding) -> Finding:
    return Finding(
        _VERDICTS[native.verdict],
        native.tick,
        _SEEN,
        index=native.index,
        address=native.address,
        size=native.size,
        expected=native.expected,
        got=native.got,
        stuck=KIND_NAMES[native.kind] if _VERDICTS[native.verdict] is Verdict.HANG else "",
    )


def all_flush(info: ProtocolInfo, description: SystemDescription, used: Sequence[int]) -> bool:
    """Whether the machine behind each of these requesters has an event for flushes."""
    machines = [
        description.machines[requester.machine].of or requester.machine
        for requester in description.requesters.values()
        for _ in range(description.machines[requester.machine].count or 0)
    ]
    names = {machines[index] for index in used}
    return all(has_flush(info.machine(name).EVENTS.members()) for name in names)
