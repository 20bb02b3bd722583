"""Every kernel of the corpus without caches and time: two compilers, optimised and not, for both
generations."""

from __future__ import annotations

import pytest

from gpu.host.device import Device
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES, ELSEWHERE
from tests.gpu.corpus.runner import complaint
from tests.gpu.kernels.stored import SOURCES, stored
from tests.sampling import MATRIX, sampled


def test_no_kernel_is_left_out() -> None:
    run = {f"{case.source}.{launch.kernel}" for case in CASES for launch in case.launches}
    there = {f"{source}.{name}" for source in SOURCES for name in stored(source).kernels}
    assert run | set(ELSEWHERE) == there
    assert not run & set(ELSEWHERE)


def test_names_are_distinct() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


GFX900 = [
    (configuration, case)
    for configuration in ("clang14-O2-gfx900", "clang19-O2-gfx900", "clang14-O0-gfx900")
    for case in CASES
]


@pytest.mark.parametrize(
    ("configuration", "case"),
    sampled(GFX900, 9, MATRIX, ids=[f"{case.name}-{how}" for how, case in GFX900]),
)
def test_ends_as_the_oracle_says_on_gfx900(configuration: str, case: Case) -> None:
    assert complaint(case, Device(cus=1), configuration) is None


ON_GFX900 = {case.name for _, case in GFX900[::9]}
GFX803 = [
    pytest.param(
        case,
        configuration,
        marks=MATRIX if configuration != "clang14-O2" or case.name in ON_GFX900 else (),
        id=f"{case.name}-{configuration}",
    )
    for case in CASES
    for configuration in ("clang14-O2", "clang19-O2", "clang14-O0")
]
"""In the suite, each case is run for one generation."""


@pytest.mark.parametrize(("case", "configuration"), GFX803)
def test_ends_as_the_oracle_says(case: Case, configuration: str) -> None:
    assert complaint(case, Device(cus=1), configuration) is None
