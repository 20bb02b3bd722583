"""``gpu-tester litmus``: scenarios, many times each, with counts of what they ended with."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from protocols.loader import LoadedProtocol, load_protocol
from runtime.description.schema import parse_assignment
from slicc.scenario_text.conditions import Model
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.printer import printed
from slicc.scenario_text.syntax import Scenario, Setting
from slicc.text.command.exit_status import FINE, FOUND, side_file
from slicc.text.command.progress import Progress
from slicc.text.files import write_whole
from slicc.text.terminal import printable_lines
from slicc.text.wording import counted
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.cli.checks import check_directory, check_includes
from tester.cli.leg_files import protocol_of, read_text
from tester.cli.options.common import Format
from tester.cli.options.litmus import LitmusOptions
from tester.engines.choice import Choice
from tester.engines.selection import Chosen, choose
from tester.errors import ConfigError
from tester.litmus.binding import DEFAULT_KEY, Bound, base_description, bind, cast_of
from tester.litmus.judgement import judge_of
from tester.litmus.report import as_json, as_lines
from tester.litmus.series import LitmusSeries, run_series
from tester.litmus.shipped import SUFFIX, scenario_files, shipped_for
from tester.program.replay_file import MAGIC

_Done = tuple[Path, LitmusSeries, Path | None]
"""A scenario, what came of it, and the file of a run that failed."""


def litmus(options: LitmusOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    check_directory(options.output)
    protocols = _Protocols(options)
    bound = _bound(options, protocols)
    runs = 0

    def on_run() -> None:
        nonlocal runs
        runs += 1

    progress = Progress(lambda: f"{runs:,} runs", options.format is Format.text)
    done: list[_Done] = []
    try:
        with progress:
            for file, each in bound:
                result = _series(each, options, protocols, on_run)
                done.append((file, result, _saved(result, file, options)))
                _show(done[-1], options, progress)
    finally:
        protocols.close()
    failed = sum(result.failed is not None for _, result, _ in done)
    if options.format is Format.json:
        print(as_json(done))
    else:
        progress.verdict("FAILED" if failed else "PASSED", _summary(failed, done), good=not failed)
    return FOUND if failed else FINE


def _show(done: _Done, options: LitmusOptions, progress: Progress) -> None:
    """Print what came of a scenario, for people."""
    file, result, path = done
    if options.format is Format.text:
        again = "" if path is None else _replay(path, result, options)
        for line in as_lines(file, result, again, options.quiet):
            progress.say(printable_lines(line))


def _summary(failed: int, done: Sequence[_Done]) -> str:
    runs = sum(result.runs for _, result, _ in done)
    scenarios = counted(len(done), "scenario")
    return f"{f'{failed} of ' if failed else ''}{scenarios}, {counted(runs, 'run')}"


class _Protocols:
    """What the scenarios run on: each protocol is loaded once for what is set of it, and has one
    engine."""

    def __init__(self, options: LitmusOptions) -> None:
        self._options = options
        self._loaded: dict[tuple[str, str], LoadedProtocol] = {}
        self._engines: dict[str, Chosen] = {}

    def load(self, name: str, values: Mapping[str, object]) -> LoadedProtocol:
        key = name, str(values)
        if key not in self._loaded:
            options = self._options
            native = options.engine is not Choice.python
            loaded = load_protocol(name, options.include, None, native, options.prelude, values)
            self._loaded[key] = loaded
        return self._loaded[key]

    def engine(self, protocol: LoadedProtocol) -> Chosen:
        name = protocol.identity.name
        if name not in self._engines:
            self._engines[name] = choose(self._options.engine, protocol, _note)
        return self._engines[name]

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()


def _bound(options: LitmusOptions, protocols: _Protocols) -> list[tuple[Path, Bound]]:
    """All scenarios; what is wrong with any of them comes before the first run."""
    settings = dict(map(parse_assignment, options.assignments))
    model = Model(options.model.value)
    found = []
    for file in _files(options, protocols, settings):
        scenario = _scenario(file)
        name = protocol_of(options, scenario, file)
        bound = bind(scenario, protocols.load(name, settings | scenario.assignments), settings)
        if scenario.racy:
            judge_of(bound, scenario.model or model)
        else:
            bound.leg(DEFAULT_KEY)
        found.append((file, bound))
    return found


def _files(
    options: LitmusOptions, protocols: _Protocols, settings: Mapping[str, object]
) -> list[Path]:
    """Raises ConfigError."""
    if not options.files:
        if options.protocol is None:
            raise ConfigError("name a protocol (--protocol NAME), or files that name theirs")
        protocol = protocols.load(options.protocol, settings)
        cast = cast_of(protocol, base_description(protocol, settings))
        return shipped_for(protocol.identity.name, cast)
    found: list[Path] = []
    for given in options.files:
        files = scenario_files(given) if given.is_dir() else [given]
        if not files:
            raise ConfigError(f"{given}: no file there ends in {SUFFIX}")
        found += files
    return found


def _scenario(file: Path) -> Scenario:
    """The scenario in a file; of a replay file, how to make one. Raises ConfigError."""
    try:
        return read_text(file)
    except ScenarioError:
        with suppress(OSError), file.open("rb") as opened:
            if opened.read(len(MAGIC)) == MAGIC:
                scenario = file.with_suffix(SUFFIX).name
                command = shlex.join(("gpu-tester", "shrink", str(file), "-o", scenario))
                raise ConfigError(f"{file}: a replay file; {command} writes a scenario") from None
        raise


def _series(
    bound: Bound, options: LitmusOptions, protocols: _Protocols, on_run: Callable[[], None]
) -> LitmusSeries:
    engine = protocols.engine(bound.protocol)
    campaign = Campaign(bound.protocol, Options(options.seed, 1), engine)
    model = Model(options.model.value)
    return run_series(bound, engine, campaign, options.runs, options.seed, model, on_run)


def _saved(result: LitmusSeries, file: Path, options: LitmusOptions) -> Path | None:
    """The file of a run that failed, if it can be written."""
    if result.failed is None:
        return None
    name = f"{file.stem}-{result.bound.protocol.identity.name}-failed"
    identity = result.bound.protocol.identity
    scenario = _with_settings(result.failed.scenario, options)
    if not identity.path:
        scenario = replace(scenario, protocol=identity.name)
    text = printed(scenario).encode()
    with side_file("gpu-tester", FOUND):
        return write_whole(_place_for(text, options.output, name), text, parents=True)
    return None


def _place_for(text: bytes, directory: Path, name: str) -> Path:
    """Where no other text is: one of an earlier run, or of another file of that name, is kept."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    paths = (directory / f"{each}{SUFFIX}" for each in names)
    return next(path for path in paths if not path.is_file() or path.read_bytes() == text)


def _with_settings(scenario: Scenario, options: LitmusOptions) -> Scenario:
    """What the command line sets is part of the text: a replay takes no ``--set``."""
    given: dict[str, Any] = dict(map(parse_assignment, options.assignments))
    merged = given | scenario.assignments
    settings = (Setting(path, value) for path, value in merged.items())
    return replace(scenario, settings=tuple(settings))


def _replay(path: Path, result: LitmusSeries, options: LitmusOptions) -> str:
    """The command that runs it again."""
    command = ["gpu-tester", "replay", str(path)]
    if result.bound.protocol.identity.path:
        command += ["--protocol", options.protocol or str(result.bound.protocol.identity.path)]
    for directory in options.include:
        command += ["--include", str(directory)]
    for prelude in options.prelude:
        command += ["--prelude", str(prelude)]
    return shlex.join(command)


def _note(text: str) -> None:
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
