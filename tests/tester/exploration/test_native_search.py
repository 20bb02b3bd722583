"""States are exactly what their codes say, and their numbers stay as they are."""

from __future__ import annotations

import pytest

from tester.exploration.native_search import Rules
from tester.exploration.native_words import SearchEnd, WalkFault
from tester.exploration.small_system import Bounds
from tests.planted.bug import TESTED
from tests.tester.exploration.systems import opened, protocol, searched

SAMPLE = ("MSI",)
ALL = [each if each in SAMPLE else pytest.param(each, marks=pytest.mark.explore) for each in TESTED]
GPU = ("load", "store", "atomic", "acquire", "release", "load.glc", "store.slc")
WALKS = {
    "MSI": Bounds(lines=2, operations=("load", "store", "atomic")),
    "MI": Bounds(lines=2, agents=2, engines=True),
    "MESI_Two_Level": Bounds(lines=2, engines=True, operations=("load", "store", "fetch")),
    "GPU_VIPER": Bounds(lines=2, operations=GPU, engines=True),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("symmetry", [False, True], ids=["plain", "renamed"])
def test_nothing_that_a_code_leaves_out_makes_a_difference(name: str, symmetry: bool) -> None:
    """One system is never read, the other at every step; the same must follow from both."""
    _, search = opened(name, WALKS.get(name, Bounds(caches=1, lines=2)), symmetry=symmetry)
    with search:
        walks = [search.random_walk(seed, 120) for seed in range(8)]
    assert [fault for fault, _, _ in walks] == [WalkFault.SAME] * len(walks)
    assert min(compared for _, compared, _ in walks) >= 30


WHOLE = Rules(local_steps=False)
COUNTS = {
    ("MSI", 2, 1, 1): (1_435, 3_566),
    ("MSI", 2, 1, 2): (16_861, 48_092),
}


@pytest.mark.parametrize(("name", "caches", "lines", "locations"), COUNTS)
def test_numbers_of_states(name: str, caches: int, lines: int, locations: int) -> None:
    bounds = Bounds(caches, lines, locations)
    found = searched(name, bounds, WHOLE, symmetry=False)
    assert found.end is SearchEnd.COMPLETE
    counted = (found.statistics.states, found.statistics.steps)
    assert counted == COUNTS[name, caches, lines, locations]


def test_symmetry_leaves_about_half_of_two_caches() -> None:
    whole = searched("MSI", Bounds(), symmetry=False)
    half = searched("MSI", Bounds())
    assert whole.statistics.states // 2 <= half.statistics.states <= whole.statistics.states * 0.51
    assert (whole.cells, whole.end) == (half.cells, half.end)


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("MSI_Snoop", 1 << 16),
        pytest.param("GPU_VIPER", 2, marks=pytest.mark.explore),
        pytest.param("MI", 1 << 16, marks=pytest.mark.explore),
    ],
)
def test_local_steps_leave_out_states_and_no_transition(name: str, bound: int) -> None:
    """A bound, since acknowledgements that change nothing pile up where they are delivered."""
    bounds = Bounds(locations=1)
    every = searched(name, bounds, Rules(bound=bound, local_steps=False))
    some = searched(name, bounds)
    assert every.end is some.end is SearchEnd.COMPLETE
    assert some.cells <= every.cells
    machines = protocol(name).info.machines
    left = {
        f"{machines[cell.machine].MACHINE}.{machines[cell.machine].EVENTS.name_of(cell.event)}"
        for cell in every.cells - some.cells
    }
    assert left <= some.system.spent


def test_wide_fingerprints_find_the_same_states() -> None:
    narrow = searched("MSI", Bounds(locations=1))
    wide = searched("MSI", Bounds(locations=1), Rules(wide=True))
    assert wide.statistics.states == narrow.statistics.states


def test_a_bound_withholds_beginnings_and_says_so() -> None:
    whole = searched("MSI", Bounds(locations=1))
    part = searched("MSI", Bounds(locations=1), Rules(bound=1))
    assert not whole.statistics.withheld
    assert part.end is SearchEnd.COMPLETE and part.statistics.withheld
    assert part.statistics.states < whole.statistics.states


GPU_SYSTEM = Bounds(locations=1)
SYSTEMS = {
    ("MSI_Snoop", Bounds()): (1_740, 4_519),
    ("MSI", Bounds()): (8_433, 24_054),
    ("MSI", Bounds(caches=3, locations=1)): (55_807, 190_380),
    ("MI", Bounds()): (1_566, 3_966),
    ("MESI_Two_Level", Bounds()): (13_084, 42_650),
    ("MOESI_AMD_Base", Bounds(caches=1)): (991, 5_407),
    ("GPU_VIPER", GPU_SYSTEM): (13_960, 57_537),
    ("GPU_VIPER_APU", Bounds(caches=1, locations=1)): (824_875, 2_986_673),
}
IN_SUITE = ("MSI_Snoop",)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        pytest.param(*each, marks=() if each[0] in IN_SUITE else pytest.mark.explore)
        for each in SYSTEMS
    ],
)
def test_the_usual_systems_are_exhausted(name: str, bounds: Bounds) -> None:
    """Those of the command without options, and some more; nothing bounds them.

    Messages that keep no order are written in one that depends on which of their values were
    written before, which need not decide it. GPU_VIPER_APU had 824,189 states, 12 more, while
    messages were written before requesters: probably one state with two codes, not traced.
    """
    found = searched(name, bounds, Rules(most_states=2_000_000))
    assert found.end is SearchEnd.COMPLETE and not found.statistics.withheld
    assert (found.statistics.states, found.statistics.steps) == SYSTEMS[name, bounds]
