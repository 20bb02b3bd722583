"""Runs a leg with everything recorded that happens in it.

Invariant: recording changes nothing of the run: the same transitions in the same ticks, the same
verdict.
"""

from __future__ import annotations

from protocols.loader import LoadedProtocol
from runtime.system.builder import build_system
from tester.campaign.campaign import leg_run
from tester.diagnosis.events.history import History
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.failure_report import in_question, refine
from tester.execution.events import Finding, Verdict
from tester.limits import RECORDED_ROWS
from tester.program.replay_file import Leg


def record(
    leg: Leg, protocol: LoadedProtocol, finding: Finding | None = None, rows: int = RECORDED_ROWS
) -> Recording:
    """``finding``: what the leg is known to fail with, whose bytes are followed then; ``rows``: how
    many of the last events are kept. Of a runaway only the transitions are recorded."""
    program = leg.program
    system = build_system(protocol.info, leg.description, leg.run_key)
    system.memory.zeroed = leg.zeroed
    history = (
        History(None, program.line_size, whole=True, rows=rows)
        if finding is None
        else History(None, program.line_size, in_question(finding, program), True, rows)
    )
    if finding is None or finding.verdict is not Verdict.RUNAWAY:
        history.watch(system)  # takes time for each message that there is
    for controller in system.controllers:
        controller.observer = history.transition
    run = leg_run(leg, system, (history,))
    found = run.run().finding
    return Recording(leg, run, history, None if found is None else refine(found, program))
