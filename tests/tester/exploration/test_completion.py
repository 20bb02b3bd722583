"""Requests that go in circles are found, though nothing ever comes to rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from protocols.loader import load_protocol
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.native_search import Rules
from tester.exploration.native_words import FindingKind
from tester.exploration.report import Namer, verdict_line
from tester.exploration.small_system import Bounds
from tests.planted.bug import HANG, Bug, BugClass, Edit
from tests.tester.exploration.systems import STARVES, hunted, library, protocol, searched

CIRCLES = Bug(
    "msi-data-goes-in-circles",
    BugClass.LOST_COMPLETION,
    "MSI-cache.sm",
    "A reader puts the data back into its buffer, again and again.",
    (
        Edit("transition(IS_D, {DataDirNoAcks, DataOwner}, S)", "transition(IS_D, DataOwner, S)"),
        Edit(
            'action(qr_popResponse, "qr"',
            'action(zr_circle, "zr", desc="Later") {\n'
            "    response_in.recycle(clockEdge(), cyclesToTicks(intToCycles(1)));\n  }\n\n"
            '  action(qr_popResponse, "qr"',
        ),
        Edit(
            "transition({IM_AD, SM_AD}, DataDirNoAcks, M)",
            "transition(IS_D, DataDirNoAcks) {\n    zr_circle;\n  }\n\n"
            "  transition({IM_AD, SM_AD}, DataDirNoAcks, M)",
        ),
    ),
    HANG,
)
LOADS = Bounds(operations=("load",), locations=1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_request_in_circles_is_found(jobs: int, tmp_path: Path) -> None:
    planted = load_protocol(str(CIRCLES.plant(tmp_path)), native=True)
    found = explore(planted, LOADS, Rules(), jobs=jobs)
    assert found.conclusion is Conclusion.FOUND and found.finding is not None
    assert (found.finding.kind, len(found.finding.trace)) == (FindingKind.NO_COMPLETION, 1)
    assert not found.rules.commuting_steps  # all steps have to be known to say so
    _, text = verdict_line(found, Namer(planted, found.system))
    assert text == (
        "a request is outstanding, and no run from there completes any without further accesses, "
        "after 1 steps"
    )
    unjudged = explore(planted, LOADS, Rules(most_edges=0))
    assert (unjudged.conclusion, unjudged.completion_judged) == (Conclusion.EXHAUSTED, False)


@pytest.mark.parametrize("agents", [1, pytest.param(2, marks=pytest.mark.explore)])
def test_a_request_starves_although_others_are_completed(agents: int, tmp_path: Path) -> None:
    bounds = Bounds(operations=("load", "store"), locations=1, agents=agents)
    found = hunted(STARVES, tmp_path, bounds)
    assert found.finding is not None and found.finding.kind is FindingKind.NO_COMPLETION


def test_a_verdict_says_that_it_was_not_judged() -> None:
    found = searched("MSI", Bounds(locations=1), Rules(most_edges=100))
    _, text = verdict_line(found, Namer(protocol("MSI"), found.system))
    assert text.endswith(
        "that requests can always be completed was not judged: more than 100 steps"
    )
    whole = searched("MSI", Bounds(locations=1))
    assert whole.completion_judged


@pytest.mark.parametrize(
    ("completing", "outstanding", "stuck"),
    [
        pytest.param((3,), (0, 1, 2), None, id="all lead to it"),
        pytest.param((0,), (1, 2), 1, id="the first of those that do not"),
        pytest.param((0,), (2,), 2, id="only where something is outstanding"),
        pytest.param((0,), (), None, id="nothing is"),
    ],
)
def test_states_from_which_nothing_is_completed(
    completing: tuple[int, ...], outstanding: tuple[int, ...], stuck: int | None
) -> None:
    """Steps 0-1, 1-2, 2-1, 2-0 if step 3 is the one that completes; fingerprints in no order."""
    prints = np.array([90, 20, 60], np.uint64)
    start = np.array([0, 1, 2, 2])
    to = np.array([20, 60, 20, 90 if 3 in completing else 60], np.uint64)
    to |= np.isin(np.arange(4), completing).astype(np.uint64)
    given = (start << 1 | np.isin(start, outstanding)).astype(np.uint32)
    words = (to.ctypes.data, given.ctypes.data, prints.ctypes.data, 4, 3)
    found = library("MSI").explore_first_stuck(*words)
    assert found == (-1 if stuck is None else stuck)
