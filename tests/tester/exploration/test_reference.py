"""Two explorers that share no code find the same states and make the same steps."""

from __future__ import annotations

import pytest

from tester.errors import ConfigError
from tester.exploration.native_search import Rules
from tester.exploration.native_words import SearchEnd
from tester.exploration.reference import Counted, ReferenceExplorer
from tester.exploration.small_system import Bounds, small_system
from tests.tester.exploration.systems import protocol, searched

SYSTEMS = (
    ("MSI", Bounds(1, 1, 2)),
    *(
        pytest.param(name, bounds, marks=pytest.mark.explore)
        for name, bounds in (
            ("MSI", Bounds(2, 1, 1)),
            ("MSI", Bounds(1, 2, 1)),
            ("MI", Bounds(2, 1, 1)),
            ("MI", Bounds(1, 2, 1)),
            ("MESI_Two_Level", Bounds(1, 2, 1)),
            ("MESI_Two_Level", Bounds(2, 1, 1)),
        )
    ),
)


@pytest.mark.parametrize(("name", "bounds"), SYSTEMS)
def test_the_python_engine_has_as_many_states(name: str, bounds: Bounds) -> None:
    small = small_system(protocol(name), bounds, symmetry=False)
    counted = ReferenceExplorer(protocol(name), small).run(100_000)
    native = searched(name, bounds, Rules(local_steps=False), symmetry=False)
    assert native.end is SearchEnd.COMPLETE
    assert counted == Counted(native.statistics.states, native.statistics.steps, wrong=False)


def test_the_reference_refuses_what_it_does_not_know() -> None:
    small = small_system(protocol("MSI"), Bounds(), symmetry=True)
    with pytest.raises(ConfigError, match="no symmetry"):
        ReferenceExplorer(protocol("MSI"), small)
