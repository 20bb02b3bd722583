"""The search for the least that still fails: delta debugging over programs and systems.

A candidate is a leg of its own: expectations are derived again, so it is free of races, and it runs
on the fastest engine. It takes the place of the best leg so far if it fails in the same way
(`tester.campaign.left_out.alike`). Timing moves when something is deleted, because delays are drawn
by the number of a message on its line: when nothing can be removed any more, each candidate is
tried under further run keys.

Invariant: the result depends on the leg and the limit of candidates alone. It fails as the leg
did, and, unless the search was cut, nothing that `Shrinker` knows to remove can be removed from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from protocols.loader import LoadedProtocol
from runtime.system.system import build_system
from tester.campaign.campaign import leg_run
from tester.campaign.left_out import alike
from tester.campaign.workers import OutOfTime
from tester.diagnosis.failure_report import refine
from tester.errors import ConfigError
from tester.execution.events import Finding
from tester.limits import CANDIDATES
from tester.program.program import Program
from tester.program.replay_file import Leg, with_expectations
from tester.shrink.measure import Size
from tester.shrink.simpler_programs import Step, deletions, one_group
from tester.shrink.simpler_systems import smaller_systems

_RUN_KEYS: Final = 8
_KEY_STEP: Final = 7919
_KEYS: Final = (1 << 63) - 1

FailureOf = Callable[[Leg], str]
"""Runs a leg; how it fails (`tester.campaign.campaign.kind_of`), or nothing."""


class DoesNotFail(ValueError):
    """A leg that is to be shrunk, and passes."""


class _Cut(Exception):
    """There are no candidates left."""


@dataclass
class Shrunk:
    """The end of a search. ``cut``: why it ended before nothing could be removed; empty: it did
    not. ``others``: legs that failed otherwise on the way, the first of each kind."""

    leg: Leg
    kind: str
    before: Size
    after: Size
    candidates: int = 0
    seconds: float = 0.0
    cut: str = ""
    others: dict[str, Leg] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """``nothing can be removed: tried 214 candidates``."""
        how = self.cut or "nothing can be removed"
        return f"{how}: tried {self.candidates:,} candidates"


def finding_of(leg: Leg, protocol: LoadedProtocol) -> Finding | None:
    """What a leg ends with on the Python engine, which can describe it."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    finding = leg_run(leg, system).run().finding
    return None if finding is None else refine(finding, leg.program)


class Shrinker:
    """One search. ``most``: candidates, at most. ``on_progress`` is called before each; if it
    raises OutOfTime, the search is cut."""

    def __init__(
        self,
        leg: Leg,
        protocol: LoadedProtocol,
        failure_of: FailureOf,
        most: int = CANDIDATES,
        on_progress: Callable[[int, Program], None] | None = None,
    ) -> None:
        self._protocol = protocol
        self._failure_of = failure_of
        self._most = most
        self._on_progress = on_progress
        self._best = leg
        self._kind = ""
        self._tried: set[tuple[str, str]] = set()
        self._others: dict[str, Leg] = {}
        self._candidates = 0

    def run(self) -> Shrunk:
        """Search to the end, to the limit, or to Ctrl-C. Raises DoesNotFail."""
        leg = self._best
        self._kind = self._failure_of(leg)
        if not self._kind:
            raise DoesNotFail("it does not fail here")
        before = Size.of(leg.program)
        started = time.monotonic()
        cut = ""
        try:
            for run_keys in (1, _RUN_KEYS):
                while self._round(run_keys):
                    pass
        except _Cut:
            cut = f"cut after {self._most:,} candidates"
        except OutOfTime:
            cut = "cut, there was no more time"
        except KeyboardInterrupt:
            cut = "interrupted"
        return Shrunk(
            self._best,
            self._kind,
            before,
            Size.of(self._best.program),
            self._candidates,
            time.monotonic() - started,
            cut,
            self._others,
        )

    def _round(self, run_keys: int) -> bool:
        """Everything once; whether anything could be removed."""
        removed = self._shorten()
        for step in deletions(self._can_be_bare()):
            removed |= self._minimise(step, run_keys)
        program = one_group(self._best.program)
        removed |= program is not None and self._accepts(program, run_keys)
        return self._smaller_system(run_keys) or removed

    def _can_be_bare(self) -> bool:
        groups = self._best.description.agents.values()
        return not any("bare" in group.without for group in groups)

    def _shorten(self) -> bool:
        """The shortest prefix that fails, by bisection."""
        least, length = 1, self._best.program.episodes
        whole = length
        while least < length:
            middle = (least + length) // 2
            program = self._best.program
            if self._accepts(program.keep_episodes(np.arange(program.episodes) < middle)):
                length = middle
            else:
                least = middle + 1
        return length < whole

    def _minimise(self, step: Step, run_keys: int) -> bool:
        """Remove pieces in ever smaller chunks."""
        removed = False
        chunk = step.count(self._best.program)
        while chunk:
            first = 0
            while first < (count := step.count(self._best.program)):
                away = np.zeros(count, np.bool_)
                away[first : first + chunk] = True
                if self._accepts(step.without(self._best.program, away), run_keys):
                    removed = True
                    if step.count(self._best.program) < count:
                        continue
                first += chunk
            chunk //= 2
        return removed

    def _smaller_system(self, run_keys: int) -> bool:
        removed = False
        for change in smaller_systems(self._protocol):
            smaller = change(self._best)
            if smaller is not None:
                removed |= self._accepts(smaller.program, run_keys, smaller)
        return removed

    def _accepts(self, program: Program, run_keys: int = 1, leg: Leg | None = None) -> bool:
        """Whether the program fails as the leg does, under one of the keys; then it is the best.

        ``leg``: its system, if that has changed as well.
        """
        if program.episodes == 0:
            return False
        leg = self._best if leg is None else leg
        for number in range(run_keys):
            key = (program.run_key + number * _KEY_STEP) & _KEYS
            if self._fails(replace(leg, program=replace(program, run_key=key, derived=False))):
                return True
        return False

    def _fails(self, leg: Leg) -> bool:
        name = (leg.program.digest(), leg.digest())
        if name in self._tried:
            return False
        if self._candidates == self._most:
            raise _Cut
        if self._on_progress is not None:
            self._on_progress(self._candidates, self._best.program)
        self._tried.add(name)
        try:
            leg = replace(leg, program=with_expectations(leg.program))
            self._candidates += 1
            kind = self._failure_of(leg)
        except (ConfigError, ValueError):  # nothing that a program or a system may be
            return False
        if alike(kind, self._kind):
            self._best = leg
            return True
        if kind:
            self._others.setdefault(kind, leg)
        return False
