"""Parts of a system that can be built in several ways: legs draw them, and say which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from runtime.description import DescriptionError
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.leg import PlannedLeg
from tester.campaign.drawing.options import Options

WRITTEN = """\
[machine.Directory.parameters]
directory_latency = 6
[[variant]]
of = "directory"
name = "slow"
[variant.set]
"machine.Directory.parameters.directory_latency" = 60
"machine.Directory.parameters.not_in_this_text" = true
[[variant]]
of = "directory"
name = "fast"
[variant.set]
"machine.Directory.parameters.directory_latency" = 1
[[variant]]
of = "memory"
name = "slow"
[variant.set]
"memory.latency" = 500
"""
LATENCY = "machine.Directory.parameters.directory_latency"


def plans(
    directory: Path,
    given: Mapping[str, object] | None = None,
    without: frozenset[str] = frozenset(),
) -> list[PlannedLeg]:
    path = directory / "MI.toml"
    path.write_text(WRITTEN)
    options = Options(3, 10_000, assignments=given or {}, without_variants=without)
    campaign = Campaign(load_protocol("MI", system=path), options)
    return [campaign.plan(number) for number in range(40)]


def latencies(plans: list[PlannedLeg]) -> list[object]:
    machines = (plan.leg.description.machines["Directory"] for plan in plans)
    return [machine.parameters["directory_latency"] for machine in machines]


def test_each_part_is_drawn_for_itself(tmp_path: Path) -> None:
    drawn = plans(tmp_path)
    memory = [plan.leg.description.memory.latency == 500 for plan in drawn]
    assert set(zip(latencies(drawn), memory, strict=True)) == {
        (latency, slow) for latency in (1, 6, 60) for slow in (False, True)
    }
    assert not any(plan.leg.description.variants for plan in drawn), "replay files need not know"


def test_a_leg_says_what_it_has(tmp_path: Path) -> None:
    names = {1: "fast directory", 60: "slow directory"}
    drawn = plans(tmp_path)
    for plan, latency in zip(drawn, latencies(drawn), strict=True):
        details = ", ".join(plan.summary.details)
        said = [number for number, name in names.items() if name in details]
        assert said == [number for number in names if number == latency]


def test_what_is_set_by_hand_is_not_drawn(tmp_path: Path) -> None:
    drawn = plans(tmp_path, given={LATENCY: 7})
    assert set(latencies(drawn)) == {7}
    assert "directory" not in " ".join(" ".join(plan.summary.details) for plan in drawn).split()


def test_one_variant_can_be_left_out(tmp_path: Path) -> None:
    all_, without = plans(tmp_path), plans(tmp_path, without=frozenset({"slow directory"}))
    assert latencies(without) == [6 if latency == 60 else latency for latency in latencies(all_)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"machine.Directory.cuont" = 2', "no such field; did you mean `count`"),
        ('"machine.Directory.count" = "many"', "expected an integer"),
        ('"memory.latency" = -1', "must be between"),
        ('"machine.Directory.downstream" = ["Nobody"]', "no such machine"),
    ],
)
def test_variants_are_checked_when_the_description_is_read(
    tmp_path: Path, line: str, message: str
) -> None:
    """Not in the first leg that draws them."""
    path = tmp_path / "MI.toml"
    path.write_text(f'[[variant]]\nof = "a"\nname = "b"\n[variant.set]\n{line}\n')
    with pytest.raises(DescriptionError, match=message) as error:
        load_protocol("MI", system=path)
    assert error.value.line in (4, 5)
