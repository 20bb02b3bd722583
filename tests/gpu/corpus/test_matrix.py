"""The corpus on 1, 2 and 8 compute units, 1 and 4 banks, with random delays of three seeds.

python -m pytest -n 2 -m matrix tests/gpu/corpus/test_matrix.py
"""

from __future__ import annotations

from itertools import product

import pytest

from gpu.memory.coherent.factory import EngineChoice
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.corpus.runner import coherent_device, run_case

pytestmark = pytest.mark.matrix


@pytest.mark.parametrize("cus", [1, 2, 8])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ends_as_the_oracle_says(case: Case, cus: int) -> None:
    for tccs, seed in product([1, 4], [1, 2, 3]):
        device = coherent_device(cus, tccs, seed, "uniform", EngineChoice.auto)
        configuration = ("clang14-O2", "clang19-O2")[seed % 2]
        assert case.complaint(run_case(case, device, configuration)) is None, (tccs, seed)
