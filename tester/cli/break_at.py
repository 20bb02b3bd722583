"""``gpu-tester replay --break``: a leg that stops before transitions.

Invariant: without a debugger the run continues by itself and ends as any replay does.
"""

from __future__ import annotations

import sys

from protocols.loader import LoadedProtocol
from protocols.transition_texts import texts_as_loaded
from runtime.system.builder import build_system
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.terminal import printable_lines
from tester.campaign.campaign import leg_run
from tester.cli.options.legs import ReplayOptions
from tester.diagnosis.debugger.breakpoint import breakpoint_of
from tester.diagnosis.debugger.stop import Debugger, Moment, install
from tester.diagnosis.failure_report import refine
from tester.diagnosis.listing import line_names
from tester.program.replay_file import Leg


def break_at(options: ReplayOptions, leg: Leg, protocol: LoadedProtocol) -> int:
    """Returns the exit status. Raises ConfigError for a breakpoint that cannot be."""
    assert options.break_ is not None
    lines = {name: line for line, name in line_names(leg.program).items()}
    wanted = breakpoint_of(options.break_, protocol.info, lines, leg.program.line_size)
    texts = texts_as_loaded(protocol, options.include, options.prelude)
    system = build_system(protocol.info, leg.description, leg.run_key)
    stops = 0
    debugger = Debugger() if options.pdb else None

    def stopped(moment: Moment) -> None:
        nonlocal stops
        stops += 1
        if debugger is not None:
            debugger.stop(moment)
        else:
            print(printable_lines("\n".join(moment.whole())))

    install(system, wanted, texts, stopped)
    try:
        finding = leg_run(leg, system).run().finding
    finally:
        if debugger is not None:
            sys.settrace(None)
    if finding is not None:
        finding = refine(finding, leg.program)
    times = "once" if stops == 1 else f"{stops:,} times"
    verdict = "PASSED" if finding is None else f"FAILED: {finding.verdict.value}"
    print(printable_lines(f"{verdict}: {options.file.name} stopped {times} at {options.break_}"))
    return FINE if finding is None else FOUND
