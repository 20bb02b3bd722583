"""Reports of planted bugs show the place: the changed machine, and a changed transition that ran.

Opt-in: an eighth of the catalogue with ``python -m pytest -n 2 -m planted tests/planted``, all of
it with ``-m slow``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

import pytest

from tester.blame.small_leg import small
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.diagnosis.failure_report import render
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.events import Verdict
from tester.execution.leg import LegRun
from tester.limits import CANDIDATES
from tests.planted.bug import PROTOCOLS, Bug
from tests.planted.bugs import BUGS, ELUSIVE
from tests.planted.run import EPISODES, load_planted

TRANSITIONS: Final = 0.95
"""Of reports have, in their history, a transition that was changed, or runs a changed action."""
MACHINES: Final = 0.98
"""Of reports show a transition of the changed file."""
_BLOCK: Final = re.compile(r"^  (transition|action)\((\w*)[^\0]*?^  }", re.MULTILINE)
_HISTORY: Final = re.compile(r"^history of .*\n(?:  .*\n)+", re.MULTILINE)


def report_of(bug: Bug, directory: Path, shrinks: bool = True) -> str:
    """The report of a run with seed 1 and the default options; empty if it does not find the bug.

    ``shrinks``: or with ``--no-shrink``.
    """
    protocol = load_planted(bug, directory)
    engine = choose(Choice.auto, protocol, lambda text: None)
    campaign = Campaign(protocol, Options(1, EPISODES), engine)
    for plan in campaign.plans():
        run, finding = campaign.run_leg(plan.leg)
        if finding is not None and isinstance(run, LegRun):
            failure = campaign.explain(plan.leg, run, finding)
            if shrinks and finding.verdict is not Verdict.RUNAWAY:
                found = small(plan.leg, campaign, directory / "small.leg", budget=CANDIDATES)
                found.describe(failure, campaign, "")
            return render(failure)
    return ""


def history_in(report: str) -> str:
    """The rows of the history that a report prints."""
    return "".join(match[0] for match in _HISTORY.finditer(report))


def changed_transitions(old: str, new: str) -> Iterator[int]:
    """First lines, in the new text, of transitions that differ or run an action that does."""
    changed = set()
    for tag, _, _, first, last in SequenceMatcher(
        None, old.splitlines(), new.splitlines(), autojunk=False
    ).get_opcodes():
        if tag != "equal":
            changed |= set(range(first + 1, max(last, first + 1) + 1))
    blocks = [
        (match[1], match[2], new.count("\n", 0, match.start()) + 1, match[0])
        for match in _BLOCK.finditer(new)
    ]
    touched = [b for b in blocks if changed & set(range(b[2], b[2] + b[3].count("\n") + 1))]
    actions = {name for kind, name, _, _ in touched if kind == "action"}
    for kind, _, line, text in blocks:
        runs = actions & set(re.findall(r"\w+", text))
        if kind == "transition" and (runs or (line in {b[2] for b in touched})):
            yield line


def test_changed_transitions() -> None:
    old = '  action(a_b, "a") {\n    x;\n  }\n  transition(I, E) {\n    a_b;\n  }\n'
    assert list(changed_transitions(old, old.replace("x;", "y;"))) == [4]
    other = old + "  transition(M, E, I) {\n    c;\n  }\n"
    assert list(changed_transitions(other, other.replace("c;", "d;"))) == [7]


@pytest.mark.parametrize(
    "step",
    [pytest.param(8, marks=pytest.mark.planted), pytest.param(1, marks=pytest.mark.slow)],
    ids=["an eighth", "all"],
)
def test_reports_show_what_was_changed(step: int, tmp_path: Path) -> None:
    without_transition, without_machine = [], []
    reports = places = 0
    for bug in BUGS[::step]:
        if bug.name in ELUSIVE:
            continue
        directory = tmp_path / bug.name
        directory.mkdir()
        report = report_of(bug, directory)
        old = (PROTOCOLS / bug.file).read_text(encoding="utf-8")
        lines = set(changed_transitions(old, (directory / bug.file).read_text(encoding="utf-8")))
        if not report:
            continue
        reports += 1
        if bug.file not in report:
            without_machine.append(bug.name)
        if lines:
            places += 1
            shown = re.findall(rf"{re.escape(bug.file)}:(\d+)", history_in(report))
            if not lines & set(map(int, shown)):
                without_transition.append(bug.name)
    assert reports > 100 // step
    assert len(without_machine) <= 1 + (1 - MACHINES) * (reports - 1), without_machine
    assert len(without_transition) <= 1 + (1 - TRANSITIONS) * (places - 1), without_transition
