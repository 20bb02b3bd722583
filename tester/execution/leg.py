"""Runs one leg on a fresh system: episodes, then drain, flush, read-back and a check for leaks.

A leg is one program on one system. Safety is checked while agents run; when they are done, liveness
is checked: everything in flight must come to rest, every byte must be where a reader finds it, and
no controller may hold a transaction any more. Invariant: :meth:`LegRun.run` returns without a
finding only if every episode was completed and all of these checks passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, Final, Protocol

import numpy as np

from runtime.errors import ErrorKind, ProtocolError
from runtime.prng import initial_byte
from runtime.requesters.port import Requester
from runtime.sim.engine import Engine
from slicc.text.lazy_dataclass import dataclass
from tester.execution.checker import Checker
from tester.execution.driver import Concurrency, Driver
from tester.execution.events import Finding, RequestObserver, Role, Tee, Verdict
from tester.execution.flush import (
    FLUSHES,
    READ_BACKS,
    Flusher,
    can_flush,
    flush_parts,
    flushing_requesters,
)
from tester.execution.handover import NO_HANDOVER_RULES, HandoverRules, early_loads_of
from tester.program.final_memory import FinalContents, final_contents
from tester.program.program import Program
from tester.program.read_back import read_back_program

DEADLOCK_LIMIT: Final = 100_000
"""Ticks without progress that make a request hang, unless the command line says otherwise."""
DRAIN_LIMITS: Final = 10
"""How many of these a system has to come to rest when all requests are answered."""


def slice_ticks(limit: int) -> int:
    """Ticks between two looks for requests that are ``limit`` ticks overdue; the same on both
    engines, because a verdict's tick is that of the look."""
    return max(1, min(2000, limit // 8))


class SystemLike(Protocol):
    """As much of ``runtime.system.system.System`` as a leg needs."""

    @property
    def engine(self) -> Engine: ...

    @property
    def requesters(self) -> Sequence[Requester]: ...

    @property
    def controllers(self) -> Sequence[Any]: ...

    def leaks(self) -> list[str]:
        """What should not be left after a drain, as text."""

    @property
    def memory_echoes(self) -> bool:
        """Whether main memory is not where the protocol keeps memory's bytes."""

    def memory_bytes(self, addresses: Sequence[int]) -> Sequence[int]:
        """Bytes of main memory, whatever caches hold."""

    def copies(self, address: int) -> Sequence[Any]:
        """Every copy of a byte's line (``runtime.system.inspection.Copy``)."""


@dataclass(slots=True)
class Outcome:
    """The result of a leg."""

    finding: Finding | None = None
    error: ProtocolError | None = None
    """The protocol's own verdict, when it stopped the run."""
    episodes: int = 0
    lane_accesses: int = 0
    ticks: int = 0
    concurrency: Concurrency = field(default_factory=Concurrency)
    flushed: bool = False
    """Whether memory itself was compared (the protocol has a flush)."""


class LegRun:
    """One leg while it runs; afterwards the state that reports inspect."""

    def __init__(
        self,
        program: Program,
        system: SystemLike,
        deadlock_limit: int = DEADLOCK_LIMIT,
        rules: HandoverRules = NO_HANDOVER_RULES,
        observers: Iterable[RequestObserver] = (),
        on_progress: Callable[[LegRun], None] | None = None,
        on_episodes: Callable[[], None] | None = None,
    ) -> None:
        """``on_episodes`` is called when all episodes are complete."""
        self.program = program
        self.system = system
        self.limit = deadlock_limit
        self.rules = rules
        self.outcome = Outcome()
        engine = system.engine
        self.checker = Checker(
            program.line_size,
            self._initial_word,
            engine.stop,
            not rules.blind,
            early_loads_of(program, rules),
        )
        self._observer = Tee(self.checker, *observers) if observers else self.checker
        self._on_progress = on_progress
        self._on_episodes = on_episodes
        ports = [agent.requester for agent in program.agents]
        self.driver = Driver(
            engine,
            system.requesters,
            ports,
            [program],
            program.line_size,
            self._observer,
            steps=rules.steps,
        )
        self.read_back: Driver | None = None

    @property
    def place(self) -> str:
        """Machine, state and event where the protocol stopped the run, as far as they are known."""
        error = self.outcome.error
        if error is None or error.machine is None:
            return ""
        return ".".join(filter(None, (error.machine, error.state, error.event)))

    def run(self) -> Outcome:
        """Run to the end or to the first finding. Errors that are our own bugs are not caught."""
        if self.run_episodes().finding is None:
            if self._on_episodes is not None:
                self._on_episodes()
            self.wind_up()
        return self.outcome

    def run_episodes(self) -> Outcome:
        """The program itself, until its last episode is complete."""
        return self._judged(self._run_episodes)

    def wind_up(self) -> Outcome:
        """What follows the last episode: drain, leaks, flush, memory, read-back."""
        return self._judged(lambda: self._come_to_rest() and self._compare())

    def _judged(self, phase: Callable[[], bool]) -> Outcome:
        outcome = self.outcome
        try:
            phase()
        except ProtocolError as error:
            outcome.error = error
            outcome.finding = self.checker.finding or protocol_finding(error, self.system.engine)
        finding, watch = outcome.finding, self.system.engine.watch
        if finding is not None and finding.verdict is Verdict.HANG and watch is not None:
            finding.notes += filter(None, [watch.busiest()])
        self.take_stock()
        return outcome

    def take_stock(self) -> None:
        """Bring the outcome's figures up to now; for legs that are interrupted."""
        outcome = self.outcome
        outcome.episodes = self.driver.completed
        outcome.lane_accesses = self.checker.lane_accesses
        outcome.ticks = self.system.engine.now
        outcome.concurrency = self.driver.concurrency

    # ------------------------------------------------------------------ phases; True: continue

    def _run_episodes(self) -> bool:
        self.driver.start()
        return self._run_driver(self.driver)

    def _run_driver(self, driver: Driver) -> bool:
        engine = self.system.engine
        checker = self.checker
        ticks = slice_ticks(self.limit)
        until = engine.now
        while engine.ticks and not driver.finished:
            until = max(until, engine.ticks[0]) + ticks
            engine.run(until)
            self.outcome.finding = checker.finding or checker.overdue(engine.now, self.limit)
            if self.outcome.finding is not None:
                return False
            self._show_progress()
        if not driver.finished:
            self.outcome.finding = checker.stuck(engine.now) or _stuck_agents(driver, engine.now)
        return self.outcome.finding is None

    def _show_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self)

    def _come_to_rest(self) -> bool:
        """Everything in flight arrives; what never ends is a livelock.

        Ten limits, as for requests: memory may have many writes queued that no request waits for.
        """
        engine = self.system.engine
        limit = DRAIN_LIMITS * self.limit
        until = engine.now + limit
        ticks = slice_ticks(self.limit)
        while engine.ticks and engine.ticks[0] <= until and self.checker.finding is None:
            engine.run(min(until, engine.ticks[0] + ticks))
            self._show_progress()
        self.outcome.finding = self.checker.finish(engine.now)
        if self.outcome.finding is None and engine.ticks:
            self.outcome.finding = Finding(
                Verdict.HANG,
                engine.now,
                f"all requests are answered, but {limit} ticks later messages still move",
            )
        if self.outcome.finding is None:
            self._leaks()
        return self.outcome.finding is None

    def _leaks(self) -> None:
        leaks = self.system.leaks()
        if leaks:
            self.outcome.finding = Finding(
                Verdict.LEAK,
                self.system.engine.now,
                f"after everything was answered {len(leaks)} things are left behind",
                notes=leaks[:40],
            )

    def _compare(self) -> bool:
        if self.rules.blind:
            return True
        final = final_contents(self.program)
        return self._flush(final) and self._read_back(final) and self._come_to_rest()

    def _flush(self, final: FinalContents) -> bool:
        """Write everything back where the protocol can, and compare memory itself."""
        requesters = self.system.requesters
        if not all(can_flush(requesters[index]) for index in flushing_requesters(self.program)):
            return True
        engine = self.system.engine
        flushers = [
            Flusher(engine, requesters[index], part, self._observer, FLUSHES + (number << 20))
            for number, (index, part) in enumerate(flush_parts(self.program, final))
        ]
        for flusher in flushers:
            engine.schedule(flusher, engine.now + 1)
        while engine.ticks and not all(f.finished for f in flushers):
            engine.run(max(engine.now, engine.ticks[0]) + self.limit // 8)
            self.outcome.finding = self.checker.finding or self.checker.overdue(
                engine.now, self.limit
            )
            if self.outcome.finding is not None:
                return False
            self._show_progress()
        self.outcome.flushed = True
        return self._come_to_rest() and self._compare_memory(final)

    def _compare_memory(self, final: FinalContents) -> bool:
        if self.system.memory_echoes:
            return True
        held = np.array(self.system.memory_bytes(final.addresses.tolist()), np.uint8)
        wrong = held != final.contents
        if not wrong.any():
            return True
        first = int(np.argmax(wrong))
        address = int(final.addresses[first])
        size = 1
        while (address + size) % 8 and wrong[first + size]:
            size += 1
        got = int.from_bytes(held[first : first + size].tobytes(), "little")
        wanted = int.from_bytes(final.contents[first : first + size].tobytes(), "little")
        width = 2 + 2 * size
        self.outcome.finding = Finding(
            Verdict.LOST_WRITE,
            self.system.engine.now,
            f"memory holds {got:#0{width}x} at the end, expected {wanted:#0{width}x}"
            f" ({np.count_nonzero(wrong)} wrong bytes in all)",
            address=address,
            size=size,
            expected=wanted,
            got=got,
        )
        return False

    def _read_back(self, final: FinalContents) -> bool:
        """Load every line under test through a port."""
        rules = self.rules
        program = read_back_program(self.program, final, rules.isolation_groups, rules.reads_back)
        if program is None or self.rules.copies_stay:
            return True
        ports = [agent.requester for agent in program.agents]
        engine = self.system.engine
        self.read_back = Driver(
            engine,
            self.system.requesters,
            ports,
            [program],
            program.line_size,
            self._observer,
            Role.READ_BACK,
            READ_BACKS,
        )
        self.read_back.start()
        return self._run_driver(self.read_back)

    def _initial_word(self, address: int) -> int:
        key = self.program.run_key
        return sum(initial_byte(key, address + i) << 8 * i for i in range(4))


ERROR_VERDICTS: Final = {
    ErrorKind.UNDEFINED_TRANSITION: Verdict.UNDEFINED_TRANSITION,
    ErrorKind.PANIC: Verdict.PANIC,
    ErrorKind.ASSERTION: Verdict.PANIC,
    ErrorKind.TOO_MANY_TRANSITIONS: Verdict.RUNAWAY,
    ErrorKind.TOO_MANY_MESSAGES: Verdict.RUNAWAY,
}
"""Errors of the protocol's own checks that have a verdict of their own."""


def protocol_finding(error: ProtocolError, engine: Engine) -> Finding:
    """An error that the protocol itself raised, as a finding."""
    verdict = ERROR_VERDICTS.get(error.kind, Verdict.PROTOCOL_ERROR)
    tick = engine.now if error.tick is None else error.tick
    address = -1 if error.address is None else error.address
    return Finding(verdict, tick, error.message, address=address)


def _stuck_agents(driver: Driver, tick: int) -> Finding:
    """Nothing moves and no request is open: an agent was refused and never asked to retry."""
    for agent in driver.agents:
        request = agent.refused
        if request is not None:
            return Finding(
                Verdict.HANG,
                tick,
                f"{agent.requester.name} refused a {request.what} and never asked for it again",
                request,
            )
    waiting = [agent for agent in driver.agents if agent.waiting_for()]
    raise AssertionError(
        f"our own bug: nothing is open, yet {len(waiting)} agents wait for hand-overs at {tick}"
    )
