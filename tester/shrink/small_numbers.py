"""Numbers that are easy to read, where the failure survives them: values 1, 2, 3, lines in a row.

Invariant: each step has a number for everything that does not depend on what there was, so that a
leg which has it is left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tester.arrays import BoolArray, WordArray
from tester.program.program import LOAD
from tester.program.replay_file import Leg
from tester.shrink.scripts import with_lines_moved
from tester.shrink.simpler_programs import ShrinkStep, lines_of

_FIRST_LINE: Final = 0x1000
_RUN_KEY: Final = 1


def reading_steps() -> tuple[ShrinkStep, ...]:
    """What makes a leg easier to read and no smaller."""
    return (_VALUES, _PLACES, _KEY)


# ------------------------------------------------------------------ values


def _ordinals(leg: Leg) -> WordArray:
    """[A, L]: 1, 2, 3 .. for what is stored or added, in program order, as far as it fits."""
    program = leg.program
    written = program.active() & (program.action_kind != LOAD)[:, None]
    number = np.zeros(written.shape, np.uint64)
    number[written] = np.arange(1, int(written.sum()) + 1, dtype=np.uint64)
    last = ~np.uint64(0) >> (64 - 8 * program.action_size.astype(np.uint64))
    return np.asarray(np.minimum(number, last[:, None]))


def _large(leg: Leg) -> BoolArray:
    """[A, L]: the value is another one."""
    return np.asarray(leg.program.store_value != _ordinals(leg))


def _small_values(leg: Leg, away: BoolArray) -> Leg:
    large = _large(leg)
    value = leg.program.store_value.copy()
    marked = np.zeros(large.shape, np.bool_)
    marked[large] = away
    value[marked] = _ordinals(leg)[marked]
    return replace(leg, program=replace(leg.program, derived=False, store_value=value))


_VALUES: Final = ShrinkStep("large values", lambda leg: int(_large(leg).sum()), _small_values)

# ------------------------------------------------------------------ places


def _moves(leg: Leg) -> dict[int, int]:
    """Lines that are not where they would be in a row."""
    size = leg.program.line_size
    return {
        line: _FIRST_LINE + number * size
        for number, line in enumerate(lines_of(leg.program))
        if line != _FIRST_LINE + number * size
    }


def _in_a_row(leg: Leg, away: BoolArray) -> Leg:
    return with_lines_moved(leg, _moves(leg))


_PLACES: Final = ShrinkStep(
    "lines far away", lambda leg: int(bool(_moves(leg))), _in_a_row, sound=False
)


def _with_key(leg: Leg, away: BoolArray) -> Leg:
    return replace(leg, program=replace(leg.program, derived=False, run_key=_RUN_KEY))


_KEY: Final = ShrinkStep("run key", lambda leg: int(leg.run_key != _RUN_KEY), _with_key)
