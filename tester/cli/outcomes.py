"""``gpu-tester replay`` of a racy scenario: what it ended with, and how it came to that.

Invariant: each run is exactly the one that the text says, on the Python engine, which describes it.
"""

from __future__ import annotations

from itertools import product

from runtime.system.builder import build_system
from slicc.scenario_text.conditions import Model, outcome_text
from slicc.scenario_text.printer import printed
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.terminal import printable_lines
from tester.cli.options.legs import ReplayOptions
from tester.diagnosis.events.history import History
from tester.diagnosis.failure_report import Failure, render
from tester.execution.events import Finding, Verdict
from tester.litmus.binding import Bound
from tester.litmus.judgement import Judge, judge_of
from tester.litmus.single_run import run_in_python
from tester.program.expectations import touched_lines


def replay_outcomes(bound: Bound, options: ReplayOptions) -> int:
    """Returns the exit status. Raises ScenarioError."""
    judge = judge_of(bound, bound.scenario.model or Model.sc)
    if not options.quiet:
        print(printable_lines(printed(bound.scenario)))
    failed = [
        not _run(bound, judge, key, delays, options)
        for key, delays in product(bound.keys, bound.delays)
    ]
    return FOUND if any(failed) else FINE


def _run(bound: Bound, judge: Judge, key: int, delays: str, options: ReplayOptions) -> bool:
    """Whether a run may end as it does."""
    leg, lowered = bound.leg(key, delays, overlap=judge.model is Model.tso)
    system = build_system(bound.protocol.info, leg.description, leg.run_key)
    history = History(touched_lines(leg.program).tolist(), leg.program.line_size)
    history.watch(system)
    for controller in system.controllers:
        controller.observer = history.transition
    ended, run = run_in_python(leg, lowered, bound.protocol, (history,), system)
    head = f"key {key}, delays {delays}: "
    finding = ended.finding
    if finding is None:
        objections = judge.objections(ended.outcome)
        text = outcome_text(ended.outcome)
        mark = f"   <-- {'; '.join(objections)}" if objections else ""
        print(printable_lines(f"{head}{text}{mark}"))
        if not objections:
            return True
        headline = f"{text}: {'; '.join(objections)}"
        finding = Finding(Verdict.FAILED_CHECK, ended.ticks, headline)
    else:
        print(f"{head}{finding.verdict.value}")
    print(printable_lines(render(Failure(leg, run, history, finding), options.history)))
    return False
