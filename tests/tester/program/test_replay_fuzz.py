"""Whatever a replay file holds, it is refused with a message or runs to a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tester.program.replay_mutants import Mutants, Tally


def check(tally: Tally, mutants: int) -> None:
    print(dict(tally.outcomes))
    first = [f"seed {seed}: {said}" for seed, said in list(tally.failures.items())[:5]]
    assert not tally.failures, f"{len(tally.failures)} failures\n" + "\n".join(first)
    assert sum(tally.outcomes.values()) == mutants
    assert tally.outcomes["refused"] > mutants // 3
    assert tally.outcomes["passed"] > mutants // 40, tally.reasons.most_common(5)


def test_some_mutants(tmp_path: Path) -> None:
    check(Mutants(tmp_path).run(range(150)), 150)


@pytest.mark.fuzz
def test_many_mutants(tmp_path: Path) -> None:
    check(Mutants(tmp_path).run(range(1_000, 101_000)), 100_000)
