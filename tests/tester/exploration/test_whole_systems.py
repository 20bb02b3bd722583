"""Systems that are exhausted whenever something changes."""

from __future__ import annotations

from typing import Final

import pytest

from tester.exploration.exploration import Conclusion
from tester.exploration.native_search import Rules
from tester.exploration.small_system import Bounds
from tests.tester.exploration.systems import searched

ONCE = Rules(most_states=6_000_000, bound=1 << 16)
SCOPES = ("load", "store", "atomic", "acquire", "load.slc", "store.slc")
ATOMICS = ("load", "store", "atomic", "acquire")
WRITE_BACK: Final = (("machine.TCC.parameters.WB", True),)
SYSTEMS: Final = {
    "MSI-4x1": ("MSI", Bounds(caches=4, locations=1), 3_841_271, 15_912_185),
    "MSI-2x2": ("MSI", Bounds(lines=2, locations=1), 378_090, 1_385_341),
    "MESI-DMA-fetch": (
        "MESI_Two_Level",
        Bounds(locations=1, engines=True, operations=("load", "store", "fetch")),
        5_230_229,
        19_125_262,
    ),
    "MSI-3x1": ("MSI", Bounds(caches=3, locations=1), 55_807, 190_380),
    "MOESI-pair-x2": ("MOESI_AMD_Base", Bounds(caches=1, lines=2, locations=1), 77_993, 288_574),
    "MI-2x2": ("MI", Bounds(lines=2, locations=1), 550_216, 2_325_645),
    "MI-3x1-DMA": ("MI", Bounds(caches=3, locations=1, engines=True), 1_629_466, 5_483_990),
    "VIPER-WT": ("GPU_VIPER", Bounds(locations=1, operations=SCOPES), 1_256_753, 5_487_798),
    "VIPER-WB-atomics": (
        "GPU_VIPER",
        Bounds(locations=1, operations=ATOMICS, assignments=WRITE_BACK),
        63_337,
        255_275,
    ),
    "VIPER-WB-scopes": (
        "GPU_VIPER",
        Bounds(
            locations=1,
            operations=("load", "store", "acquire", "load.slc", "store.slc"),
            assignments=WRITE_BACK,
        ),
        488_094,
        1_940_714,
    ),
}
"""By what they are: a protocol, its system, and how many states and steps that has. The first and
the third take some 25 s each; tests are dealt in pairs, so these two go to different workers."""


def exhausted(protocol: str, bounds: Bounds, states: int, steps: int) -> None:
    found = searched(protocol, bounds, ONCE)
    assert found.conclusion is Conclusion.EXHAUSTED and not found.statistics.withheld
    assert (found.statistics.states, found.statistics.steps) == (states, steps)
    assert found.statistics.visited_bytes <= 16 * states + 20_000  # small tables do not shrink
    assert found.statistics.code_bytes + 2 * states <= 150 * states


@pytest.mark.explore
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_of_every_change(name: str) -> None:
    exhausted(*SYSTEMS[name])
