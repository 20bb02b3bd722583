"""A scenario on a protocol: the system that it asks for, and the leg that runs it.

Invariant: the system is the protocol's own with what the scenario sets, known defects avoided as in
a campaign; the same scenario, protocol, key and delays give the same leg.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import complete
from runtime.sim.delay_policy import POLICY_NAMES, SCRIPTED
from slicc.scenario_text import syntax
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.printer import printed
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest
from tester.campaign.drawing.known_defects import avoided, avoided_defects
from tester.campaign.drawing.system import outline
from tester.errors import ConfigError
from tester.execution.handover import HandoverRules, agents_of
from tester.execution.leg import DEADLOCK_LIMIT
from tester.profiles import machine_roles
from tester.program.replay_file import Leg
from tester.scenario_text.from_program import to_scenario
from tester.scenario_text.placement import Cast
from tester.scenario_text.to_program import Lowered, lower

DEFAULT_KEY: Final = 1
PROFILE: Final = "scenario"
"""What a leg from a text has in place of a profile."""
_DELAYS: Final = "network.delays"


@dataclass(frozen=True, slots=True)
class Bound:
    """A scenario on the system of a protocol, before any key."""

    scenario: syntax.Scenario
    protocol: LoadedProtocol
    description: SystemDescription
    cast: Cast

    @property
    def keys(self) -> tuple[int, ...]:
        """The run keys of the text, else one."""
        return self.scenario.keys or (DEFAULT_KEY,)

    @property
    def delays(self) -> tuple[str, ...]:
        """Policies of the text, else that of the system."""
        return self.scenario.delays or (self.description.network.delays,)

    def leg(
        self, key: int, delays: str | None = None, *, overlap: bool = False
    ) -> tuple[Leg, Lowered]:
        """The leg of one run, and where its observables are. Raises ScenarioError."""
        description = self.description
        if delays is not None and delays != description.network.delays:
            network = structs.replace(description.network, delays=delays, script=None)
            description = structs.replace(description, network=network)
        if self.scenario.racy:
            description = structs.replace(description, values=False)
        lowered = lower(self.scenario, self.cast, description.line_size, key, overlap=overlap)
        limit = self.scenario.limit or DEADLOCK_LIMIT
        identity = self.protocol.identity
        leg = Leg(
            lowered.program,
            description,
            identity,
            limit,
            profile=PROFILE,
            zeroed=self.scenario.racy,
        )
        return leg, lowered

    def of(self, scenario: syntax.Scenario) -> Bound:
        """The system for another scenario, which sets the same."""
        return replace(self, scenario=scenario)


def bind(
    scenario: syntax.Scenario,
    protocol: LoadedProtocol,
    settings: Mapping[str, object] | None = None,
) -> Bound:
    """Raises ScenarioError; DescriptionError for ``settings``, which come before the text's."""
    check_headings(scenario, protocol)
    description = _described(scenario, protocol, settings or {})
    try:
        return Bound(scenario, protocol, description, cast_of(protocol, description))
    except ConfigError as error:
        at = scenario.settings[-1] if scenario.settings else scenario.columns[0]
        raise ScenarioError("setting", str(error), at.span) from None


def cast_of(protocol: LoadedProtocol, description: SystemDescription) -> Cast:
    """The agents of a system. Raises ConfigError if none of them can make fetch-adds."""
    agents, groups = agents_of(description)
    able = machine_roles.abilities(protocol.accepted, description)
    rules = HandoverRules.of(description, groups)
    return Cast(agents, tuple(able[group] for group in groups), rules.isolation_groups)


def check_headings(scenario: syntax.Scenario, protocol: LoadedProtocol) -> None:
    """Whether a text is for this protocol, and its delays exist. Raises ScenarioError."""
    of_kernels = scenario.of_kernels()
    if of_kernels is not None:
        what = "this belongs to a test of kernels, which have places, orders and scopes"
        raise ScenarioError(
            "program", what, of_kernels, help="gpu.litmus.scenario reads it (docs/scenarios.md)"
        )
    own = protocol.identity.name
    if scenario.protocol not in (None, own) and not scenario.names_file():
        what = f"the scenario is for {scenario.protocol}, the protocol is {own}"
        raise ScenarioError("protocol", what, scenario.place_of("protocol"))
    for name in scenario.delays:
        if name not in POLICY_NAMES:
            near = suggest(name, POLICY_NAMES)
            help_ = f"did you mean `{near}`?" if near else f"there are {', '.join(POLICY_NAMES)}"
            span = scenario.place_of("delays")
            raise ScenarioError("name", f"there is no delay policy {name}", span, help=help_)


def text_of_leg(
    leg: Leg, protocol: LoadedProtocol, title: str = "", named: str | None = None
) -> str:
    """A race-free leg of the protocol as a text that is read as the same leg. Raises NotText.

    ``named``: how the text names a protocol that is not shipped.
    """
    without = tuple(
        name for name in protocol.description.agents if name not in leg.description.agents
    )
    base = base_description(protocol, {}, without)
    scenario = to_scenario(leg, base, without, title)
    return printed(replace(scenario, protocol=scenario.protocol or named))


def base_description(
    protocol: LoadedProtocol, changes: Mapping[str, object], without: Collection[str] = ()
) -> SystemDescription:
    """The protocol's system without some groups of agents and with some fields changed.

    Raises DescriptionError.
    """
    whole = protocol.description
    base = outline(protocol.written, whole, set(whole.agents) - set(without))
    defects = avoided_defects(protocol, False, (), ())
    assignments = {**avoided(defects, base, whole), **changes}
    return complete(base.override(assignments), protocol.info)


def _described(
    scenario: syntax.Scenario, protocol: LoadedProtocol, settings: Mapping[str, object]
) -> SystemDescription:
    """The system that a scenario asks for. Raises ScenarioError at the setting that is wrong."""
    changes, without = dict(settings), scenario.without
    for name in without:
        if name not in protocol.description.agents:
            what = f"the system has no group of agents {name}"
            raise ScenarioError("setting", what, scenario.place_of("without"))
    base_description(protocol, changes)  # an error there is none of the text
    if SCRIPTED in scenario.delays:
        changes[_DELAYS] = SCRIPTED
    wanted = changes | scenario.assignments
    try:
        return base_description(protocol, wanted, without)
    except DescriptionError as error:
        raise at_setting(
            scenario,
            lambda stated: base_description(protocol, changes | stated, without),
            error,
        ) from None


def at_setting(
    scenario: syntax.Scenario, make: Callable[[dict[str, object]], object], error: Exception
) -> ScenarioError:
    """``error``, of a system, at the setting that brings it about: the first one up to which
    ``make`` makes none. What is wrong is as the text has it, not as ``--set`` would."""
    at, wrong = scenario.columns[0].span, error
    so_far: dict[str, object] = {}
    for setting in scenario.settings:
        so_far[setting.path] = setting.value
        try:
            make(so_far)
        except (DescriptionError, ConfigError) as first:
            at, wrong = setting.span, first
            break
    option = f"{wrong.file}: " if isinstance(wrong, DescriptionError) and not wrong.line else ""
    what = str(wrong).removeprefix(option).removeprefix("--set ")
    return ScenarioError("setting", f"the system cannot be that: {what}", at)
