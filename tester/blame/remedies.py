"""What makes a leg pass: changed rows and changed statements, and how well each of them does.

Many changes make one run pass by moving it in time, or by hiding what is wrong. A remedy does more:
most of the legs that fail next to the leg pass with it, and so do those that passed before and
random legs of the campaign, in which the whole protocol runs. Invariant: the result depends on the
leg and on the options of its campaign alone; the number of changes that are tried is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Final

from slicc.text.lazy_dataclass import dataclass
from tester.blame.interventions import Cell, Change, changes, traces
from tester.blame.statements import ChangedStatements, StatementChange
from tester.engines.selection import CANNOT
from tester.errors import ConfigError
from tester.native.batch import FAILS
from tester.program.replay_file import Leg
from tester.shrink.scripts import with_policy
from tester.shrink.trials import Trials, derived

_ROWS: Final = 2400
"""Changed rows that are tried, at most."""
_FOR_EACH: Final = 200
"""And for each transition."""
_NEAR: Final = 16
"""Other failing legs that a remedy has to mend, at most; and legs that have to pass as before."""
_DRAWN: Final = 8
"""Random legs."""
_MENDED: Final = 0.9
"""Share of the failing legs that it has to."""
_ALTERED: Final = 0.25
"""Taken off for each leg that passed before, and passes with other transitions: to be more careful
everywhere, as by taking each load for a store, hides a fault."""
_SLOWER: Final = 3
"""So many times as long with delays."""
_TIMINGS: Final = ("uniform", "heavy_tail")
_KEYS: Final = 4

_AnyChange = Change | StatementChange
Place = Cell | str
"""What is changed: a row, or ``L1Cache.a_issueRequest``."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What could be done instead in one place, the best first.

    Of the best, ``passed``: share of other legs that pass; ``score``: that share, with what is
    taken off for those that passed before and do otherwise now; ``small``: see `Change`;
    ``source``: the row whose text it is, or the line of the statement.
    """

    words: tuple[str, ...]
    passed: float
    score: float
    small: bool
    source: Cell | str


@dataclass(frozen=True, slots=True)
class Around:
    """A failing leg and what is next to it: legs that fail, and legs that do not. ``limit``: ticks
    after which a run hangs."""

    leg: Leg
    limit: int
    failing: Sequence[Leg]
    passing: Sequence[Leg]


class Laboratory:
    """Runs legs with changes."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._statements: ChangedStatements | None = None

    def rows(self, cells: Sequence[Cell]) -> list[Change]:
        protocol = self._trials.protocol
        found = (change for cell in cells for change in islice(changes(protocol, cell), _FOR_EACH))
        return list(islice(found, _ROWS))

    def statements(self, lines: Sequence[str], leg: Leg) -> Sequence[StatementChange]:
        """The changes of statements on some lines that can be compiled, the first lines first."""
        if self._trials.engine.batch is not None:
            with suppress(*CANNOT, ConfigError):
                self._statements = ChangedStatements(self._trials.protocol, lines, leg)
                return self._statements.changes
        return ()

    def close(self) -> None:
        """Nothing more is tried."""
        if self._statements is not None:
            self._statements.close()

    def traces(self, leg: Leg, tried: Sequence[_AnyChange]) -> list[int]:
        """The hash of a leg's transitions with each, or FAILS; all are rows, or all statements."""
        rows = [each for each in tried if isinstance(each, Change)]
        others = [each for each in tried if isinstance(each, StatementChange)]
        assert not rows or not others
        if others and self._statements is not None:
            return self._statements.traces(leg, others)
        return traces(leg, rows, self._trials.protocol, self._trials.engine)

    def unchanged(self, leg: Leg, cells: Sequence[Cell]) -> int:
        """The hash of a leg's transitions as it is. ``cells``: one of them has a row."""
        for machine, state, event in cells:
            row = self._trials.protocol.info.machine(machine).TRANSITIONS.get((state, event))
            if row is not None:
                cell = machine, state, event
                return self.traces(leg, [Change(cell, "as it is", row, True, cell)])[0]
        return FAILS


@dataclass(slots=True)
class _Record:
    """A change, how many other legs pass, and how many of those that passed before do otherwise."""

    change: _AnyChange
    passed: int = 0
    altered: int = 0

    @property
    def score(self) -> float:
        return self.passed - _ALTERED * self.altered


def remedies(
    around: Around, cells: Sequence[Cell], lines: Sequence[str], trials: Trials
) -> dict[Place, Remedy]:
    """By place. ``cells``, ``lines``: what may be changed, the most suspect first. Statements are
    changed only where no row makes all legs pass, those that passed before as they did."""
    laboratory = Laboratory(trials)
    failing, others = _others(around, trials)
    before = [laboratory.unchanged(leg, cells) for leg in others]
    legs = len(failing) + len(others)

    def judged(tried: Sequence[_AnyChange]) -> list[_Record]:
        ends = laboratory.traces(replace(around.leg, deadlock_limit=around.limit), tried)
        mending = [_Record(each) for each, end in zip(tried, ends, strict=True) if end != FAILS]
        left = _that_mend(mending, failing, laboratory)
        for leg, usual in zip(others, before, strict=True) if left else ():
            ends = laboratory.traces(leg, [each.change for each in left])
            for each, end in zip(left, ends, strict=True):
                each.passed += end != FAILS
                each.altered += usual != FAILS and end not in (usual, FAILS)
        return left

    records = judged(laboratory.rows(cells))
    if not any(each.score == legs for each in records):
        try:
            records += judged(laboratory.statements(lines, around.leg))
        finally:
            laboratory.close()
    found: dict[Place, Remedy] = {}
    for each in sorted(records, key=lambda each: -each.score):
        change = each.change
        passed, score = each.passed / max(1, legs), each.score / max(1, legs)
        first = Remedy((), passed, score, change.small, change.source)
        best = found.setdefault(change.place, first)
        found[change.place] = replace(best, words=(*best.words, change.words))
    return found


def _that_mend(
    tried: Sequence[_Record], failing: Sequence[Leg], laboratory: Laboratory
) -> list[_Record]:
    """Those with which enough of the failing legs pass."""
    left = list(tried)
    for number, leg in enumerate(failing, 1):
        for each, end in zip(left, laboratory.traces(leg, [each.change for each in left])):
            each.passed += end != FAILS
        left = [each for each in left if each.passed >= number - (1 - _MENDED) * len(failing)]
    return left


def _others(around: Around, trials: Trials) -> tuple[list[Leg], list[Leg]]:
    """Legs that fail next to the leg, spread over their kinds; and others that have to pass."""
    leg = around.leg
    drawn = [
        replace(with_policy(leg, delays), program=replace(leg.program, run_key=key, derived=False))
        for key in range(1, _KEYS + 1)
        for delays in _TIMINGS
    ]
    endings = trials.endings(drawn, sound=True)
    found = [derived(each) for each, ending in zip(drawn, endings) if ending]
    near = around.failing[:: max(1, -(-len(around.failing) // (_NEAR - len(found))))]
    passing = around.passing[:: max(1, -(-len(around.passing) // _NEAR))]
    slow = [
        replace(each, deadlock_limit=_SLOWER * around.limit)
        for each in (*map(derived, near), *found, *map(derived, passing))
    ]
    failing = len(near) + len(found)
    random = trials.drawn_legs(leg, _DRAWN) if trials.engine.batch is not None else []
    return slow[:failing], [*slow[failing:], *random]
