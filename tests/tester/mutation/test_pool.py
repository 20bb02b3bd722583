"""Every mutant comes back, also from a process that dies or does not end."""

from __future__ import annotations

import os
import time

import pytest

from tester.mutation.outcome import ENGINE_CRASH, NO_END
from tester.mutation.pool import Lost, Pool
from tester.mutation.study import Attempt, OriginalFails, Watch

CRASHES, HANGS, FAILS = 7, 11, 99


def work(mutant: int, legs: range, most: int, watch: Watch) -> Attempt:
    watch(True)
    if mutant == CRASHES:
        os._exit(3)
    if mutant == HANGS:
        time.sleep(600)
    if mutant == FAILS:
        raise OriginalFails("leg 4 fails")
    watch(False)
    return Attempt(len(legs), most + mutant)


def endings(mutants: list[int], jobs: int, patience: float = 60.0) -> dict[int, Attempt | Lost]:
    with Pool(jobs, work, patience) as pool:
        found = list(pool.run(mutants, range(3), 10))
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_do_not_depend_on_the_number_of_processes(jobs: int) -> None:
    assert endings(list(range(40, 80)), jobs) == {n: Attempt(3, 10 + n) for n in range(40, 80)}


def test_a_process_that_dies_costs_the_mutant_that_ran_in_it() -> None:
    found = endings([1, 2, CRASHES, 3, 4, 5], 1)
    assert found.pop(CRASHES) == Lost(ENGINE_CRASH)
    assert found == {n: Attempt(3, 10 + n) for n in (1, 2, 3, 4, 5)}


def test_a_mutant_that_does_not_end_is_given_up() -> None:
    found = endings([1, HANGS, 2, 3], 1, patience=0.3)
    assert found.pop(HANGS) == Lost(NO_END)
    assert found == {n: Attempt(3, 10 + n) for n in (1, 2, 3)}


def test_an_error_of_the_study_is_raised() -> None:
    with pytest.raises(OriginalFails, match="leg 4"):
        endings([1, FAILS, 2], 2)


def test_a_pool_serves_again() -> None:
    with Pool(2, work) as pool:
        assert len(list(pool.run([1, 2, 3], range(1), 1))) == 3
        assert dict(pool.run([4], range(2), 1)) == {4: Attempt(2, 5)}
        assert list(pool.run([], range(2), 1)) == []
