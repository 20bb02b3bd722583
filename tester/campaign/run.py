"""Runs for callers in Python: a protocol in, a result out.

The command ``gpu-tester`` prints while it runs; these functions return values. Invariant: the same
seed and options give the legs that the command runs, with the same results on either engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypedDict, Unpack

from protocols.loader import AnyProtocol, LoadedProtocol, load, load_texts
from runtime.description import DefectDescription
from slicc.text.files import Paths, several_paths
from slicc.text.suggest import suggest
from tester.campaign.campaign import AnyRun, Campaign, Totals
from tester.campaign.coverage import Coverage
from tester.campaign.drawing.leg import PlannedLeg
from tester.campaign.drawing.options import Options
from tester.campaign.drawing.usable_options import check_usable
from tester.campaign.replay_protocol import carried, fitted, named_protocol, parameters_of
from tester.campaign.watcher import Watcher
from tester.diagnosis.failure_report import render
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.errors import ConfigError
from tester.execution.events import Finding
from tester.execution.leg import LegRun
from tester.profiles import profiles
from tester.program.replay_file import Leg, ReplayError, load_leg, with_expectations
from tester.statistics.statistics import Statistics
from tester.trace_file.leg import trace_leg

_OWN_OPTIONS: Final = ("episodes", "seed", "engine", "watchers", "on_leg", "stats")


class MoreOptions(TypedDict, total=False):
    """The fields of `Options` that a run seldom needs."""

    profile: str
    fixed: Mapping[str, object]
    assignments: Mapping[str, object]
    one_request_per_lane: bool | None
    known_defects: bool
    attack: tuple[str, ...]
    avoid: tuple[str, ...]
    left_out: tuple[DefectDescription, ...]
    without_variants: frozenset[str]
    leg_episodes: int | None
    deadlock_limit: int


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run; the leg and its finding are None if everything passed.

    ``last`` is the last leg that was run, with its system for inspection.
    """

    campaign: Campaign
    last: AnyRun
    leg: Leg | None = None
    finding: Finding | None = None

    @property
    def passed(self) -> bool:
        return self.finding is None

    @property
    def totals(self) -> Totals:
        return self.campaign.totals

    @property
    def coverage(self) -> Coverage:
        return self.campaign.coverage

    @property
    def statistics(self) -> Statistics | None:
        """What the protocol cost; None: it was not asked for."""
        return self.campaign.statistics

    def report(self) -> str:
        """The failure as ``gpu-tester replay`` prints it; runs the leg again. Empty: it passed."""
        if self.leg is None or self.finding is None:
            return ""
        assert isinstance(self.last, LegRun), "findings are confirmed by the Python engine"
        return render(self.campaign.explain(self.leg, self.last, self.finding))


def run(
    protocol: AnyProtocol,
    episodes: int = 1000,
    seed: int = 1,
    *,
    engine: str = Choice.auto,
    watchers: Sequence[Watcher] = (),
    on_leg: Callable[[PlannedLeg], None] | None = None,
    stats: bool = False,
    **options: Unpack[MoreOptions],
) -> Result:
    """Test a protocol, leg after leg, until ``episodes`` episodes are complete or one fails.

    ``watchers`` check what the tester does not, on the Python engine. ``on_leg`` is called with
    every leg before it runs. ``stats``: count what the protocol costs. Raises what
    `protocols.load` raises, ConfigError, DescriptionError.
    """
    choice = _choice(engine, watchers, stats)
    _check_names(options)
    drawn = Options(seed, episodes, **options)
    loaded = load(protocol, native=choice is not Choice.python, values=drawn.assignments)
    _check_effects(drawn, loaded)
    chosen = choose(choice, loaded, _ignore, counts=stats)
    try:
        campaign = Campaign(loaded, drawn, chosen, watchers, stats)
        for plan in campaign.plans():
            if on_leg is not None:
                on_leg(plan)
            last, finding = campaign.run_leg(plan.leg)
            if finding is not None:
                return Result(campaign, last, plan.leg, finding)
        return Result(campaign, last)
    finally:
        chosen.close()


def replay(
    source: str | Path | Leg,
    protocol: AnyProtocol | None = None,
    *,
    include: Paths = (),
    engine: str = Choice.auto,
    watchers: Sequence[Watcher] = (),
    stats: bool = False,
) -> Result:
    """Run one leg again: that of a replay file, or a value, whose program may have been edited.

    ``protocol``: another one than the leg names; ``stats``: as for :func:`run`.
    Raises what :func:`run` raises, ReplayError.
    """
    choice = _choice(engine, watchers, stats)
    leg, loaded = loaded_leg(source, protocol, include, native=choice is not Choice.python)
    chosen = choose(choice, loaded, _ignore, counts=stats)
    try:
        options = Options(leg.seed, leg.program.episodes, leg.profile)
        campaign = Campaign(loaded, options, chosen, watchers, stats)
        last, finding = campaign.run_leg(leg)
        return Result(campaign, last, None if finding is None else leg, finding)
    finally:
        chosen.close()


def loaded_leg(
    source: str | Path | Leg,
    protocol: AnyProtocol | None = None,
    include: Paths = (),
    *,
    native: bool = False,
) -> tuple[Leg, LoadedProtocol]:
    """A leg ready to run, and what it runs on. Raises what :func:`replay` does."""
    directories = several_paths(include)
    if not isinstance(source, str | Path | Leg):
        raise ConfigError(f"{source!r} is no leg: the path of a replay file, or a Leg, is needed")
    leg = source if isinstance(source, Leg) else load_leg(source)
    file = Path("leg") if isinstance(source, Leg) else Path(source)
    if not leg.program.derived:
        try:
            leg = replace(leg, program=with_expectations(leg.program))
        except ValueError as error:
            raise ReplayError(file, f"its program is malformed: {error}") from None
    values = parameters_of(leg)
    texts = carried(leg, directories) if protocol is None else None
    if texts is not None:
        loaded = load_texts(texts, leg.protocol, native, values)
    else:
        protocol = named_protocol(leg, file, directories) if protocol is None else protocol
        loaded = load(protocol, directories, native=native, values=values)
    return fitted(leg, loaded, file), loaded


def generate(
    protocol: AnyProtocol,
    episodes: int = 1000,
    seed: int = 1,
    number: int = 0,
    **options: Unpack[MoreOptions],
) -> Leg:
    """Leg ``number`` of such a run without running it: its program and its system.

    ``episodes`` is the length of the run; ``leg_episodes`` that of the leg, which is drawn
    otherwise.
    """
    _check_names(options)
    if not isinstance(number, int) or number < 0:
        raise ConfigError(f"number is {number!r}, that of a leg is needed: 0 is the first")
    drawn = Options(seed, episodes, **options)
    loaded = load(protocol, native=False, values=drawn.assignments)
    _check_effects(drawn, loaded)
    return Campaign(loaded, drawn).plan(number).leg


def load_trace(
    file: str | Path,
    protocol: AnyProtocol,
    assignments: Mapping[str, object] | None = None,
) -> Leg:
    """The requests of a CSV file as a leg on a protocol, to be run by :func:`replay`.

    ``assignments``: fields of the system description, by path. Raises what `protocols.load`
    raises, TraceError, ConfigError, DescriptionError.
    """
    values = assignments or {}
    return trace_leg(Path(file), load(protocol, native=False, values=values), values)


def _check_names(options: Mapping[str, object]) -> None:
    """Raises ConfigError for an option that there is not, with the one that was meant."""
    for name in options:
        if name in MoreOptions.__annotations__:
            continue
        if name in profiles.options():
            raise ConfigError(f"{name} is an option of profiles: fixed={{{name!r}: ...}}")
        known = [*MoreOptions.__annotations__, *_OWN_OPTIONS]
        close = suggest(name, known)
        help_ = f"did you mean {close}?" if close else f"there are {', '.join(sorted(known))}"
        raise ConfigError(f"there is no option {name}; {help_}")


def _check_effects(options: Options, protocol: LoadedProtocol) -> None:
    """Raises ConfigError as the command does."""
    profiles.check_fixed(options.fixed)
    given = dict(options.fixed)
    if options.one_request_per_lane is not None:
        given["one_request_per_lane"] = options.one_request_per_lane
    written = [(name, value, f"{name}={value!r}") for name, value in given.items()]
    chosen = options.known_defects, options.attack, options.avoid
    check_usable(protocol, written, *chosen, options.assignments)


def _choice(engine: str, watchers: Sequence[Watcher], stats: bool) -> Choice:
    if not isinstance(stats, bool):
        raise ConfigError(f"stats is {stats!r}, True or False is needed")
    if isinstance(watchers, str | Watcher) or not all(isinstance(w, Watcher) for w in watchers):
        raise ConfigError(f"watchers is {watchers!r}, a sequence of Watchers is needed")
    if engine not in list(Choice):
        raise ConfigError(f"there is no engine {engine}; there are {', '.join(Choice)}")
    return Choice.python if watchers else Choice(engine)


def _ignore(text: str) -> None:
    """Which engine runs the legs changes no result."""
