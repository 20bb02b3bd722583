"""Requesters, agents and the checker of the native engine do what the Python ones do."""

from __future__ import annotations

import pytest

from runtime.prng import Prng
from tester.program.program import CONTINUES
from tests.sampling import sampled
from tests.tester.native.requesters_scenario import FAULTS, RequesterScenario
from tests.tester.native.requesters_twin import NativeRun, PythonRun, Run, play


def states(run: Run) -> list[dict[str, int]]:
    """The state every few hundred ticks, and at the end."""
    found: list[dict[str, int]] = []
    found.append(play(run, lambda run: found.append(run.state())))
    return found


@pytest.mark.parametrize("seed", sampled(range(60), 20))
def test_without_faults_everything_is_alike(seed: int) -> None:
    scenario = RequesterScenario.draw(seed)
    native, python = states(NativeRun(scenario)), states(PythonRun(scenario))
    assert native == python
    end = native[-1]
    assert end["verdict"] == end["error"] == end["pool"] == end["leaks"] == 0
    assert end["running0"] == end["running1"] == end["flushers"] == 0
    assert end["completed0"] == scenario.program.episodes


@pytest.mark.parametrize("seed", sampled(range(20), 7))
def test_accesses_of_any_size_are_alike(seed: int) -> None:
    scenario = RequesterScenario.draw(seed, unaligned=True)
    assert (scenario.program.action_scope & CONTINUES).any()
    native, python = states(NativeRun(scenario)), states(PythonRun(scenario))
    assert native == python
    assert native[-1]["verdict"] == native[-1]["leaks"] == 0
    assert native[-1]["completed0"] == scenario.program.episodes
    for number in range(4):
        scenario = scenario.with_fault(("wrong end", "lost store")[number % 2], 1 + 7 * number)
        native, python = states(NativeRun(scenario)), states(PythonRun(scenario))
        assert native == python


@pytest.mark.parametrize("fault", FAULTS[1:])
@pytest.mark.parametrize("seed", sampled(range(6), 6))
def test_faults_are_judged_alike(fault: str, seed: int) -> None:
    prng = Prng(seed).fork(fault)
    for _ in range(3):
        scenario = RequesterScenario.draw(prng.below(1 << 20)).with_fault(fault, 1 + prng.below(40))
        native, python = states(NativeRun(scenario)), states(PythonRun(scenario))
        # A verdict of the protocol leaves the Python engine in the middle of a tick.
        sound = [state for state in python if not state["error"]]
        assert native[: len(sound)] == sound
        for state, expected in zip(native[len(sound) :], python[len(sound) :], strict=True):
            for name in ("error", "verdict", "now"):
                assert state[name] == expected[name], name
