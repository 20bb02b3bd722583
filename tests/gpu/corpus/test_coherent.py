"""Kernels of the corpus through the caches of GPU_VIPER: two compute units, two banks.

On the native engine, by units that run ahead of the clock and by those that do not, which are to do
the same at every tick; some on the Python engine, too.
"""

from __future__ import annotations

import pytest

from gpu.memory.coherent.factory import EngineChoice
from tests.gpu.corpus import algorithms, arith, basic, mixed, programs, races, waves
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.runner import coherent_device, run_case
from tests.sampling import MATRIX, sampled

RUNS = [
    *((case, "clang14-O2") for case in (*basic.CASES, *waves.CASES, *races.CASES)),
    *((case, "clang14-O2") for case in algorithms.CASES),
    *((case, "clang19-O2") for case in (*programs.CASES, *mixed.CASES, *races.CASES, *arith.CASES)),
    *((case, "clang14-O2-gfx900") for case in (*algorithms.CASES, *waves.CASES, *races.CASES)),
    *((case, "clang19-O2-gfx900") for case in (*basic.CASES, *programs.CASES, *mixed.CASES)),
]
"""Each once; those that share memory between groups with both compilers."""
UNOPTIMISED = [(case, "clang14-O0-gfx900") for case in programs.CASES]
"""As slow as they are long; the functional device runs them in the suite."""
ON_PYTHON = [
    *((case, "clang14-O2") for case in basic.CASES[::2]),
    *((case, "clang19-O2") for case in races.CASES[::2]),
    *((case, "clang19-O2-gfx900") for case in races.CASES[1::2]),
]


def _names(runs: list[tuple[Case, str]]) -> list[str]:
    return [f"{case.name}-{how}" for case, how in runs]


@pytest.mark.parametrize(
    ("case", "configuration"),
    [
        *sampled(RUNS, 16, MATRIX, ids=_names(RUNS)),
        *(pytest.param(*run, marks=MATRIX) for run in UNOPTIMISED),
    ],
)
def test_ends_as_the_oracle_says(case: Case, configuration: str) -> None:
    ahead, plain = (coherent_device(engine=EngineChoice.auto, ahead=each) for each in (True, False))
    assert case.complaint(run_case(case, ahead, configuration)) is None
    assert not ahead.memory.busy
    run_case(case, plain, configuration)
    assert ahead.now == plain.now
    assert ahead.stats == plain.stats


@pytest.mark.parametrize(
    ("case", "configuration"), sampled(ON_PYTHON, 4, MATRIX, ids=_names(ON_PYTHON))
)
def test_on_the_python_engine(case: Case, configuration: str) -> None:
    device = coherent_device()
    assert case.complaint(run_case(case, device, configuration)) is None
    assert not device.memory.busy
