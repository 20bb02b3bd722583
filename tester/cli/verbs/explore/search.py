"""``gpu-tester explore``: every order of messages and accesses of a small system."""

from __future__ import annotations

import shlex
from pathlib import Path
from time import monotonic

from protocols.loader import LoadedProtocol, load_protocol, locate
from protocols.unsent import unsent_cells
from runtime.description import parse_assignment
from runtime.system.system import agent_places
from slicc.coverage.file import write_cells
from slicc.text.command.exit_status import FINE, FOUND, side_file
from slicc.text.command.options import given
from slicc.text.command.progress import Progress
from slicc.text.terminal import printable_lines
from tester.cli.checks import check_directory, check_files, check_includes
from tester.cli.counterexamples import Written, write_counterexample
from tester.cli.options.common import Format
from tester.cli.options.explore import ExploreOptions
from tester.cli.options.litmus import ModelChoice
from tester.cli.verbs.explore.scenarios import (
    ending_at,
    explore_scenarios,
    raise_interruption,
)
from tester.errors import ConfigError
from tester.exploration import operations
from tester.exploration.coverage import cells_of, machines_of
from tester.exploration.exploration import Conclusion, Exploration
from tester.exploration.exploration import explore as explored
from tester.exploration.invariants.language import read_invariants
from tester.exploration.memory import check_memory, steps_that_fit
from tester.exploration.native_search import Rules, SearchStatistics
from tester.exploration.report import (
    Namer,
    as_json,
    cell_lines,
    outside,
    summary,
    system_lines,
    trace_lines,
    verdict_line,
)
from tester.exploration.small_system import Bounds, SmallSystem, small_system
from tester.profiles.machine_roles import Roles, find_roles
from tester.program.program import DMA


def explore(options: ExploreOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    check_directory(options.output)
    check_files({"--coverage": options.coverage}, options)
    if options.files:
        return explore_scenarios(options)
    if options.model is not ModelChoice.sc:
        raise ConfigError("--model has no effect without a scenario")
    name = options.protocol or "GPU_VIPER"
    assignments = tuple(map(parse_assignment, options.assignments))
    protocol = load_protocol(name, options.include, None, True, options.prelude, dict(assignments))
    check_memory(options.max_states, wide=options.wide)
    rules = Rules(
        options.bound or 0,
        options.max_states,
        options.wide,
        options.to_rest,
        options.eager_memory,
        options.local_steps,
        options.commuting_steps,
        read_invariants(protocol, locate(name)[0], options.invariants),
        steps_that_fit(),
    )
    bounds = _bounds(options, protocol, assignments)
    _check_usable(options, protocol, small_system(protocol, bounds, symmetry=False))
    started = monotonic()
    seen: SearchStatistics | None = None

    def line() -> str:
        if seen is None:
            return "compiling"
        rate = seen.states / max(monotonic() - started, 0.001)
        return (
            f"{seen.states:,} states, {seen.waiting:,} waiting, depth {seen.depth}, "
            f"{rate:,.0f} states/s, {seen.bytes / 1e6:,.0f} MB"
        )

    def notify(statistics: SearchStatistics) -> None:
        nonlocal seen
        seen = statistics

    with Progress(line, options.format is Format.text and not options.no_progress) as progress:
        found = explored(
            protocol,
            bounds,
            rules,
            symmetry=options.symmetry,
            jobs=options.jobs,
            notify=notify,
            ways=options.coverage is not None,
            until=ending_at(started, options),
        )
        leg = write_counterexample(found, protocol, options) if found.finding else None
        _print(found, Namer(protocol, found.system), options, progress, leg)
    status = FOUND if found.conclusion is Conclusion.FOUND else FINE
    if options.coverage is not None:
        with side_file("gpu-tester", status):
            _write_cells(found, protocol, options, options.coverage)
    raise_interruption(found.interruption)
    return status


def _print(
    found: Exploration,
    namer: Namer,
    options: ExploreOptions,
    progress: Progress,
    leg: Written | None,
) -> None:
    if options.format is Format.json:
        print(as_json(found, namer, None if leg is None else leg.as_table()))
        return
    for text in system_lines(found):
        progress.say(printable_lines(text))
    if found.finding is not None:
        for text in trace_lines(found.finding, namer):
            progress.say(printable_lines(text))
    for text in () if leg is None else leg.lines():
        progress.say(printable_lines(text))
    for text in cell_lines(found, namer) if options.cells else ():
        progress.say(printable_lines(text))
    beyond = "" if found.finding is not None else outside(found, namer)
    if beyond:
        progress.say(printable_lines(f"outside of this system: {beyond}"))
    progress.say(printable_lines(summary(found)))
    word, text = verdict_line(found, namer)
    progress.verdict(word, printable_lines(text), good=found.conclusion is Conclusion.EXHAUSTED)


def _write_cells(
    found: Exploration, protocol: LoadedProtocol, options: ExploreOptions, path: Path
) -> None:
    present = machines_of(found, protocol)
    unsent = unsent_cells(protocol, present, options.include, options.prelude)
    write_cells(cells_of(found, protocol, Namer(protocol, found.system), unsent), path)


def _bounds(
    options: ExploreOptions,
    protocol: LoadedProtocol,
    assignments: tuple[tuple[str, object], ...],
) -> Bounds:
    names = () if options.ops is None else tuple(options.ops.split(","))
    for name in names:
        if name not in operations.NAMES:
            known = ", ".join(operations.NAMES)
            what = f"{name}:" if name else f"{shlex.quote(options.ops or '')}: one is missing;"
            raise ConfigError(f"--ops {what} there are {known}")
    roles = find_roles(protocol.info, protocol.description)
    for path, stated in assignments:
        counts = path in {f"machine.{name}.count" for name in roles.first}
        if counts and options.caches not in (None, stated):
            raise ConfigError(
                f"--caches {options.caches} and --set {path}={stated} decide the same: leave one "
                "of them out"
            )
    return Bounds(
        caches=options.caches or _usual_caches(roles),
        lines=options.lines,
        locations=options.locations or _usual_locations(roles),
        agents=options.agents,
        operations=names,
        increments=options.increments,
        engines=options.engines,
        assignments=assignments,
    )


def _check_usable(options: ExploreOptions, protocol: LoadedProtocol, system: SmallSystem) -> None:
    """Raises ConfigError for what nothing in the system could obey."""
    acting = {agent.name for agent in system.agents}
    engines = {agent.name for agent in agent_places(system.description) if agent.kind == DMA}
    if options.engines and not engines & acting:
        lack = f" that does any of --ops {options.ops}" if engines else ""
        raise ConfigError(
            f"--engines would have no effect: {protocol.identity.name} has no DMA engine{lack}"
        )
    if "--increments" in given(options, ExploreOptions) and not system.counts_words:
        raise ConfigError(
            f"--increments {options.increments} would have no effect: no agent makes fetch-adds "
            f"(--ops {','.join((*system.operations, 'atomic'))} would)"
        )


def _usual_caches(roles: Roles) -> int:
    """As many as give two agents; one where other processors stand beside them."""
    return 1 if len(roles.agents) > 1 or roles.processors else 2


def _usual_locations(roles: Roles) -> int:
    """Two show false sharing; agents that tolerate stale lines have too many states with them."""
    return 1 if roles.is_gpu else 2
