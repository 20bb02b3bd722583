"""What explorations find, and what they say where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tester.errors import ConfigError
from tester.exploration.exploration import Verdict
from tester.exploration.native_search import End, Kind, Rules
from tester.exploration.report import Namer, omission_probability, trace_lines, verdict_line
from tester.exploration.small_system import Bounds
from tests.planted.bug import Bug
from tests.planted.bugs import BUGS
from tests.tester.exploration.systems import hunted, protocol, searched

SMALL_TEXTS = ("MI", "MSI", "MSI_Snoop", "MESI_Two_Level")
BY_NAME = {bug.name: bug for bug in BUGS}


def test_false_sharing_needs_two_locations_of_a_line(tmp_path: Path) -> None:
    """A store of the whole line hides that the line was not fetched again."""
    bug = BY_NAME["msi-upgrade-is-not-refreshed"]
    assert hunted(bug, tmp_path, Bounds(locations=1)).verdict is Verdict.EXHAUSTED


def test_the_trace_is_a_shortest_one_of_one_system(tmp_path: Path) -> None:
    bug = BY_NAME["msi-upgrade-is-not-refreshed"]
    found = hunted(bug, tmp_path, Bounds())
    finding = found.finding
    assert finding is not None and finding.kind is Kind.VALUE
    namer = Namer(protocol("MSI"), found.system)
    text = list(trace_lines(finding, namer))
    assert text[0].endswith(("stores line 0a", "stores line 0b", "loads line 0a", "loads line 0b"))
    assert len(finding.trace) == found.statistics.depth + 1
    word, verdict = verdict_line(found, namer)
    assert word == "FOUND" and f"after {len(finding.trace)} steps" in verdict


def test_a_limit_says_how_far_everything_was_explored() -> None:
    found = searched("MSI", Bounds(lines=2, locations=1), Rules(most_states=2_000))
    assert (found.verdict, found.end) == (Verdict.LIMIT, End.FULL)
    assert found.complete_bound is not None
    word, text = verdict_line(found, Namer(protocol("MSI"), found.system))
    assert word == "LIMIT" and f"at most {found.complete_bound} messages under way" in text


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(lines=8), "8 lines with 2 locations each are 16, of at most 8"),
        (Bounds(caches=5, agents=2), "10 agents, of 1 to 8"),
        (Bounds(operations=("acquire",)), "--ops acquire: no agent of MSI can do that"),
        (
            Bounds(assignments=(("machine.Directory.buffer.requestToMemory.capacity", 2),)),
            "buffer Directory0.requestToMemory is limited",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(bounds: Bounds, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        searched("MSI", bounds)


def test_the_probability_of_an_omission() -> None:
    assert omission_probability(1, 64) == 0
    assert omission_probability(1 << 32, 64) == pytest.approx(0.39, abs=0.01)
    assert omission_probability(100_000_000, 64) == pytest.approx(2.7e-4, rel=0.02)


@pytest.mark.explore
@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.protocol in SMALL_TEXTS], ids=lambda bug: bug.name
)
def test_planted_bugs_of_the_small_protocols(bug: Bug, tmp_path: Path) -> None:
    ways = (Bounds(), Bounds(lines=2, locations=1), Bounds(engines=True, locations=1))
    for number, bounds in enumerate(ways):
        directory = tmp_path / str(number)
        directory.mkdir()
        if hunted(bug, directory, bounds).verdict is Verdict.FOUND:
            return
    pytest.fail(f"{bug.name} was not found")
