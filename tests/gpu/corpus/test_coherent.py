"""Every kernel of the corpus through the caches of GPU_VIPER: two compute units, two banks."""

from __future__ import annotations

import pytest

from tests.gpu.corpus import algorithms, arith, basic, mixed, programs, races, waves
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.runner import coherent_device, run_case

RUNS = [
    *((case, "clang14-O2") for case in (*basic.CASES, *waves.CASES, *races.CASES)),
    *((case, "clang14-O2") for case in algorithms.CASES),
    *((case, "clang19-O2") for case in (*programs.CASES, *mixed.CASES, *races.CASES, *arith.CASES)),
]
"""Each once; those that share memory between groups with both compilers."""


@pytest.mark.parametrize(
    ("case", "configuration"), RUNS, ids=[f"{case.name}-{how}" for case, how in RUNS]
)
def test_ends_as_the_oracle_says(case: Case, configuration: str) -> None:
    device = coherent_device()
    assert case.complaint(run_case(case, device, configuration)) is None
    assert not device.memory.busy
