"""The search for the least that still fails: delta debugging over programs and systems.

A candidate is a leg of its own: expectations are derived again, so it is free of races, and it runs
on the fastest engine. It takes the place of the best leg so far if it fails in the same way
(`Shrinker._is_same`). Timing moves when something is deleted, because delays are drawn by the
number of a message on its line. So, when nothing can be removed any more, each candidate is tried
under further run keys; then the delays that are left are written down, and become as few as they
can.

Candidates stand in one order, and the first that fails in the same way counts, wherever and with
how many others at a time they are run. Invariant: the result depends on the leg and the limit of
candidates alone. It fails as the leg did, and, unless the search was cut, no piece of any
`ShrinkStep` can be removed from it; shrunk again it stays as it is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from msgspec import msgpack, structs

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from runtime.system.builder import build_system
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import leg_run
from tester.campaign.left_out import alike
from tester.campaign.workers import OutOfTime
from tester.diagnosis.failure_report import refine
from tester.execution.events import Finding
from tester.limits import CANDIDATES
from tester.program.program import Program
from tester.program.replay_file import Leg, with_derived
from tester.shrink.measure import Size
from tester.shrink.scripts import is_drawn, script_of, with_policy, with_script, written_down
from tester.shrink.simpler_programs import ShrinkStep, program_steps
from tester.shrink.simpler_systems import system_steps
from tester.shrink.small_numbers import reading_steps
from tester.shrink.trials import Trials, derived

_RUN_KEYS: Final = 8
_MANY_KEYS: Final = 32
_LARGE: Final = 6
"""Accesses of a result that is worth more run keys."""
_KEY_STEP: Final = 7919
_KEYS: Final = (1 << 63) - 1
_INTERRUPTED: Final = "interrupted"
_AT_LIMIT: Final = "cut at its limit"
_BATCH: Final = 2
"""Batches grow by this factor while nothing is found."""
OTHERS: Final = 4
"""Other failures, at most, that are kept."""


class DoesNotFail(ValueError):
    """A leg that is to be shrunk, and passes."""


class _Cut(Exception):
    """There are no candidates left."""


_encoded: Final = msgpack.Encoder(enc_hook=lambda origin: None, order="deterministic").encode
"""Descriptions, but for where they were written."""


class _Candidate(NamedTuple):
    """A leg to try. ``place``: the first piece that it is without."""

    leg: Leg
    place: int


@dataclass(slots=True)
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
    ended: str = ""
    """The last transition on the line that the failure was about, in the leg that was found."""
    ends: str = ""
    """And in this one. Where they differ the search may have come upon another fault."""

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.cut == _INTERRUPTED

    @property
    def at_limit(self) -> bool:
        """Whether it was cut by the number of its candidates, not by the time or the user."""
        return self.cut == _AT_LIMIT

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
    """One search. ``most``: candidates, at most. ``on_progress`` is called before each batch; if it
    raises OutOfTime, the search is cut."""

    def __init__(
        self,
        leg: Leg,
        protocol: LoadedProtocol,
        trials: Trials,
        most: int = CANDIDATES,
        on_progress: Callable[[int, Program], None] | None = None,
    ) -> None:
        self._protocol = protocol
        self._trials = trials
        self._most = most
        self._on_progress = on_progress
        self._best = leg
        self._kind = ""
        assert most > 0
        self._tried: set[tuple[str, bytes]] = set()
        self._systems: list[tuple[SystemDescription, bytes]] = []
        self._others: dict[str, Leg] = {}
        self._candidates = 0
        self._steps = (*program_steps(), *system_steps(protocol))
        self._policy = leg.description.network.delays if is_drawn(leg.description) else ""
        self._reading = (*reading_steps(),)
        self._retimed = False
        self._keys = _RUN_KEYS
        self._fruitless: dict[ShrinkStep, tuple[Leg, int]] = {}
        """Steps that could remove nothing: from which leg, tried with how many run keys."""

    def run(self) -> Shrunk:
        """Search to the end, to the limit, or to Ctrl-C. Raises DoesNotFail."""
        leg = self._best
        [self._kind] = self._trials.endings([leg])
        if not self._kind:
            raise DoesNotFail("it does not fail here")
        before = Size.of(leg.program)
        started = time.monotonic()
        cut = ""
        try:
            self._search()
        except _Cut:
            cut = _AT_LIMIT
        except OutOfTime as limit:
            cut = f"cut after {limit}" if str(limit) else "cut, there was no more time"
        except KeyboardInterrupt:
            cut = _INTERRUPTED
        best = derived(self._best)
        return Shrunk(
            best,
            self._kind,
            before,
            Size.of(best.program),
            self._candidates,
            time.monotonic() - started,
            cut,
            {ending: derived(other) for ending, other in self._others.items()},
            self._trials.last_transition(leg),
            self._trials.last_transition(best),
        )

    # ------------------------------------------------------------------ order

    def _search(self) -> None:
        self._all_gone("delays")
        for retimed in (False, True):
            self._retimed = retimed and bool(self._policy)
            while self._round():
                pass
        self._retimed = False
        self._to_the_end()
        while self._is_large() and self._policy and self._round_of_many_timings():
            self._to_the_end()

    def _to_the_end(self) -> None:
        self._write_down()
        while self._round() | self._shorter_delays() | self._read_better():
            pass

    def _is_large(self) -> bool:
        return Size.of(self._best.program).accesses > _LARGE

    def _round_of_many_timings(self) -> bool:
        """A minimum that a person cannot hold in mind is one of timing, most likely."""
        self._retimed, self._keys = True, _MANY_KEYS
        removed = self._round()
        self._retimed, self._keys = False, _RUN_KEYS
        return removed

    def _round(self) -> bool:
        """Everything once; whether anything could be removed."""
        removed = self._shorten()
        for step in self._steps:
            removed |= self._minimise(step)
        return removed

    def _all_gone(self, what: str) -> None:
        """Everything of a kind at once."""
        for step in self._steps:
            if step.what == what and (count := step.count(self._best)):
                self._first(self._without(step, 0, count, count))

    def _shorten(self) -> bool:
        """The shortest prefix that fails, by bisection."""
        whole = length = self._best.program.episodes
        least = 1
        while least < length:
            middle = (least + length) // 2
            program = self._best.program
            part = program.keep_episodes(np.arange(program.episodes) < middle)
            if self._accepts(replace(self._best, program=part)):
                length = middle
            else:
                least = middle + 1
        return length < whole

    def _minimise(self, step: ShrinkStep) -> bool:
        """Remove pieces in ever smaller chunks."""
        keys = self._keys if self._retimed and step.retimed else 1
        leg, tried = self._fruitless.get(step, (None, 0))
        if leg is self._best and tried >= keys:
            return False
        removed = False
        chunk = count = step.count(self._best)
        while chunk:
            first = 0
            while first < count:
                candidates = self._without(step, first, chunk, count)
                place = self._first(candidates, step.sound)
                if place is None:
                    break
                removed = True
                assert place >= first, "pieces are removed from the front on"
                left = step.count(self._best)
                first = place if left < count else place + chunk
                count = left
            chunk //= 2
        if not removed:
            self._fruitless[step] = self._best, keys
        return removed

    def _without(
        self, step: ShrinkStep, first: int, chunk: int, count: int
    ) -> Iterator[_Candidate]:
        best = self._best
        for place in range(first, count, chunk):
            away = np.zeros(count, np.bool_)
            away[place : place + chunk] = True
            leg = step.without(best, away)
            if leg is not None:
                yield _Candidate(leg, place)
                if self._retimed and step.retimed:
                    for timed in self._timings(leg):
                        yield _Candidate(timed, place)

    def _timings(self, leg: Leg) -> Iterator[Leg]:
        """The leg with its drawn delays under further run keys."""
        drawn = leg if is_drawn(leg.description) else with_policy(leg, self._policy)
        for number in range(1, self._keys):
            key = (leg.program.run_key + number * _KEY_STEP) & _KEYS
            yield replace(drawn, program=replace(leg.program, run_key=key, derived=False))

    # ------------------------------------------------------------------ delays and numbers

    def _write_down(self) -> None:
        """Drawn delays as a script, with which everything else can move."""
        if is_drawn(self._best.description):
            written = written_down(with_derived(self._best), self._protocol)
            if written is not None:
                self._accepts(written)

    def _shorter_delays(self) -> bool:
        """Each scripted delay as short as it can be, by bisection."""
        shorter = False
        for number in range(len(script_of(self._best))):
            least, delay = 1, script_of(self._best)[number].delay
            while least < delay:
                middle = (least + delay) // 2
                rows = list(script_of(self._best))
                rows[number] = structs.replace(rows[number], delay=middle)
                if self._accepts(with_script(self._best, rows)):
                    delay, shorter = middle, True
                else:
                    least = middle + 1
        return shorter

    def _read_better(self) -> bool:
        """Small numbers, where the failure survives it."""
        better = False
        for step in self._reading:
            better |= self._minimise(step)
        return better

    # ------------------------------------------------------------------ candidates

    def _accepts(self, leg: Leg) -> bool:
        return self._first(iter([_Candidate(leg, 0)])) is not None

    def _first(self, candidates: Iterator[_Candidate], sound: bool = True) -> int | None:
        """The place of the first that fails in the same way, which becomes the best; or None.

        ``sound``: see `Trials.endings`.
        """
        batch = 1
        while group := self._fresh(candidates, batch):
            if self._on_progress is not None:
                self._on_progress(self._candidates, self._best.program)
            endings = self._trials.endings([candidate.leg for candidate, _ in group], sound)
            for (candidate, name), ending in zip(group, endings, strict=True):
                assert name not in self._tried, "a candidate is tried once"
                self._candidates += 1
                self._tried.add(name)
                if self._is_same(candidate.leg, ending):
                    self._best = candidate.leg
                    return candidate.place
            batch = min(batch * _BATCH, self._trials.most)
        return None

    def _fresh(
        self, candidates: Iterator[_Candidate], most: int
    ) -> list[tuple[_Candidate, tuple[str, bytes]]]:
        """The next ones that were not tried before. Raises _Cut where they are too many."""
        found: dict[tuple[str, bytes], _Candidate] = {}
        for candidate in candidates:
            name = (candidate.leg.program.digest(), self._system(candidate.leg))
            if name in self._tried or name in found:
                continue
            if self._candidates + len(found) == self._most:
                if not found:
                    raise _Cut
                break
            found[name] = candidate
            if len(found) == most:
                break
        return [(candidate, name) for name, candidate in found.items()]

    def _system(self, leg: Leg) -> bytes:
        """Equal for equal systems; nearly all candidates have one of the last few."""
        for description, name in islice(reversed(self._systems), 4):
            if description is leg.description:
                return name
        name = hashlib.sha256(_encoded(leg.description)).digest()
        self._systems.append((leg.description, name))
        return name

    def _is_same(self, leg: Leg, ending: str) -> bool:
        """Whether a candidate fails as the leg did. What fails otherwise is kept."""
        if alike(ending, self._kind):
            return True
        if ending and ending not in self._others and len(self._others) < OTHERS:
            self._others[ending] = leg
        return False
