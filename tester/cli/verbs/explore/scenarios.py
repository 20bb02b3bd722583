"""``gpu-tester explore SCENARIO``: what racy scenarios can end with, over all of their runs."""

from __future__ import annotations

import math
from pathlib import Path
from time import monotonic
from typing import Final

from protocols.loader import load_protocol
from runtime.description import parse_assignment
from slicc.scenario_text.conditions import Model
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.command.options import given
from slicc.text.command.progress import Progress
from slicc.text.terminal import printable_lines
from tester.cli.leg_files import protocol_of, read_text
from tester.cli.options.common import Format
from tester.cli.options.explore import ExploreOptions
from tester.errors import ConfigError
from tester.exploration.exploration import Notify, OutOfTime
from tester.exploration.memory import check_memory, steps_that_fit
from tester.exploration.native_search import Rules, SearchStatistics
from tester.exploration.report import Namer
from tester.litmus.every_run import EveryRun, as_json, as_lines, explore_scenario
from tester.litmus.script import script_of

_USED: Final = frozenset(
    {
        *("--protocol", "--include", "--prelude", "--set", "--model", "--max-states", "--bound"),
        *("--wide", "--format", "--no-progress", "--files", "--max-seconds"),
    }
)
"""What has an effect with scenarios."""


def explore_scenarios(options: ExploreOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    _check(options)
    rules = Rules(options.bound or 0, options.max_states, options.wide, most_edges=steps_that_fit())
    check_memory(options.max_states, wide=options.wide)
    until = ending_at(monotonic(), options)
    seen: SearchStatistics | None = None

    def notify(statistics: SearchStatistics) -> None:
        nonlocal seen
        seen = statistics

    def line() -> str:
        return "compiling" if seen is None else f"{seen.states:,} states, depth {seen.depth}"

    results = []
    text = options.format is Format.text
    with Progress(line, text and not options.no_progress) as progress:
        for file in options.files:
            found, namer = _explored(file, options, rules, notify, until)
            results.append((str(file), found, namer))
            for each in as_lines(file.stem, found, namer) if text else ():
                progress.say(printable_lines(each))
            raise_interruption(found.interruption)
        failed = sum(found.failed for _, found, _ in results)
        if text:
            progress.verdict(*_verdict([found for _, found, _ in results]), good=not failed)
    if not text:
        print(as_json(results))
    return FOUND if failed else FINE


def ending_at(started: float, options: ExploreOptions) -> float:
    """When a search that began then is to end."""
    return math.inf if options.max_seconds is None else started + options.max_seconds


def raise_interruption(interruption: BaseException | None) -> None:
    """Unless the time that was given was over: that ends a search like any other limit."""
    if interruption is not None and not isinstance(interruption, OutOfTime):
        raise interruption


def _explored(
    file: Path, options: ExploreOptions, rules: Rules, notify: Notify, until: float
) -> tuple[EveryRun, Namer]:
    scenario = read_text(file)
    name = protocol_of(options, scenario, file)
    assignments = [parse_assignment(each) for each in options.assignments]
    values = dict(assignments) | scenario.assignments
    protocol = load_protocol(name, options.include, None, True, options.prelude, values)
    model = scenario.model or Model(options.model.value)
    try:
        script = script_of(
            scenario, protocol, assignments, overlap=model is Model.tso, prepares=True
        )
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    found = explore_scenario(script, model, rules, notify, until)
    return found, Namer(protocol, script.system)


def _check(options: ExploreOptions) -> None:
    """Raises ConfigError."""
    idle = [name for name in given(options, ExploreOptions) if name not in _USED]
    if idle:
        raise ConfigError(f"{idle[0]} has no effect with a scenario, which has its own agents")


def _verdict(found: list[EveryRun]) -> tuple[str, str]:
    failed = sum(each.failed for each in found)
    cut = sum(not each.whole and not each.failed for each in found)
    what = f"{len(found)} scenario{'s' if len(found) != 1 else ''}"
    if failed:
        text = f"{failed} of {what} can end as they must not"
        faults = any(each.finding is not None for each in found)
        return "FOUND", f"{text}, or show a fault of the protocol" if faults else text
    if cut:
        return (
            "LIMIT",
            f"{cut} of {what} not explored to the end; more states or time allow more",
        )
    return "EXHAUSTED", f"{what}: none can end as it must not"
