"""``gpu-tester report``: one page that shows the run of a leg."""

from __future__ import annotations

import shlex
import sys

from slicc.text.command.exit_status import FINE
from slicc.text.command.version import installed_version
from slicc.text.terminal import printable_lines
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.cli.checks import check_files, check_includes
from tester.cli.leg_files import load_any, require_name
from tester.cli.options.report import ReportOptions
from tester.diagnosis.failure_report import render
from tester.engines.selection import choose
from tester.execution.leg import LegRun
from tester.shrink.leg_page import write_leg_page


def report(options: ReportOptions) -> int:
    """Returns the exit status: a leg that fails can be drawn as well as one that passes."""
    require_name(options.file)
    path = options.output or options.file.with_suffix(".html")
    check_includes(options)
    check_files({"--output": path}, options, ("the replay file", options.file))
    leg, protocol = load_any(options, options.file, options.engine, racy=True)
    engine = choose(options.engine, protocol, _note)
    drawn = Options(leg.seed, leg.program.episodes, version=installed_version())
    command = shlex.join(["gpu-tester", "replay", str(options.file), *options.protocol_words()])
    try:
        campaign = Campaign(protocol, drawn, engine)
        run, finding = campaign.run_leg(leg)
        text = ""
        if finding is not None:
            assert isinstance(run, LegRun), "findings are confirmed by the Python engine"
            failure = campaign.explain(leg, run, finding)
            failure.reproduce = command
            text = render(failure)
    finally:
        engine.close()
    recording = write_leg_page(
        path,
        leg,
        protocol,
        finding,
        include=options.include,
        preludes=options.prelude,
        report=text,
        command=command,
    )
    verdict = "passed" if finding is None else f"{finding.verdict.value} at tick {finding.tick:,}"
    size = path.stat().st_size
    print(printable_lines(f"{verdict}, {recording.history.transitions:,} transitions"))
    print(printable_lines(f"{path} ({size / 1000:,.0f} kB)"))
    return FINE


def _note(text: str) -> None:
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
