"""Making steps that commute in one order only loses nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tester.exploration.exploration import Conclusion, Exploration
from tester.exploration.native_search import Rules
from tester.exploration.small_system import Bounds
from tests.planted.bugs import BUGS
from tests.tester.exploration.systems import SMALL, hunted, searched

WRITE_BACK = (("machine.TCC.parameters.WB", True),)
SCOPES = ("load", "store", "acquire", "load.slc", "store.slc")
ATOMICS = ("load", "store", "atomic", "acquire")
SYSTEMS = {
    "values": ("MSI", Bounds(), SMALL),
    "two words": ("MSI", Bounds(lines=2, operations=("load", "atomic")), Rules(most_states=9_000)),
    "a bound": ("MSI", Bounds(lines=2, locations=1), Rules(bound=2, most_states=9_000)),
    "runs to rest": ("MSI", Bounds(locations=1), replace(SMALL, to_rest=True)),
    "no local steps": (
        "GPU_VIPER",
        Bounds(locations=1, operations=ATOMICS, assignments=WRITE_BACK),
        Rules(bound=3, local_steps=False, most_states=9_000),
    ),
}
MORE = {
    "a bus": ("MSI_Snoop", Bounds(lines=2, locations=1), SMALL),
    "engines to rest": ("MI", Bounds(), replace(SMALL, to_rest=True)),
    "engines": ("MI", Bounds(lines=2, locations=1, engines=True), SMALL),
    "two on a port": ("MSI", Bounds(agents=2, locations=1), SMALL),
    "memory at once": ("MSI", Bounds(lines=2, locations=1), replace(SMALL, eager_memory=True)),
    "fetches": (
        "MESI_Two_Level",
        Bounds(locations=1, engines=True, operations=("load", "store", "fetch")),
        SMALL,
    ),
    "acquires": ("GPU_VIPER", Bounds(locations=1), SMALL),
    "fetch-adds": (
        "GPU_VIPER",
        Bounds(locations=1, operations=ATOMICS, assignments=WRITE_BACK),
        SMALL,
    ),
    "scopes": (
        "GPU_VIPER",
        Bounds(lines=2, locations=1, operations=SCOPES, assignments=WRITE_BACK),
        SMALL,
    ),
    "pairs": ("MOESI_AMD_Base", Bounds(caches=1, lines=2, locations=1), SMALL),
    "all kinds": ("GPU_VIPER_APU", Bounds(locations=1), SMALL),
}
ALL = [
    *SYSTEMS.values(),
    *(pytest.param(*each, marks=pytest.mark.explore, id=name) for name, each in MORE.items()),
]


def judged(found: Exploration) -> tuple[object, ...]:
    numbers = found.statistics
    return (
        *(found.conclusion, found.end, found.cells, found.complete_bound, found.completion_judged),
        *(numbers.states, numbers.depth, numbers.withheld, numbers.under_way),
        numbers.steps
        if found.conclusion is Conclusion.EXHAUSTED
        else None,  # whole states are counted
    )


@pytest.mark.parametrize(("name", "bounds", "rules"), ALL)
@pytest.mark.parametrize("symmetry", [False, True], ids=["plain", "renamed"])
def test_the_same_is_found(name: str, bounds: Bounds, rules: Rules, symmetry: bool) -> None:
    """States have the same numbers, so this holds where a search stops at a limit, too."""
    less = searched(name, bounds, rules, symmetry=symmetry)
    every = searched(name, bounds, replace(rules, commuting_steps=False), symmetry=symmetry)
    assert judged(less) == judged(every)
    assert every.statistics.made == every.statistics.steps
    assert less.statistics.made <= 0.96 * less.statistics.steps


@pytest.mark.explore
def test_a_bug_has_the_same_shortest_way(tmp_path: Path) -> None:
    bug = next(each for each in BUGS if each.name == "msi-writer-does-not-wait-for-readers")
    less = hunted(bug, tmp_path, Bounds(locations=1))
    every = hunted(bug, tmp_path, Bounds(locations=1), replace(SMALL, commuting_steps=False))
    assert less.conclusion is every.conclusion is Conclusion.FOUND
    assert less.finding is not None and less.finding == every.finding
