"""A leg: its system, its delays and its program, all drawn of the run's seed and its number.

Invariant: a leg depends on the seed, its number, the options and how many episodes are left, on
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from runtime.description.variants import in_force
from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.drawing import profile_schedule
from tester.campaign.drawing.leg_summary import LegSummary, leg_summary
from tester.campaign.drawing.options import Options
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign.drawing.system import Systems
from tester.errors import ConfigError
from tester.execution.handover import agents_and_rules
from tester.execution.leg import DEADLOCK_LIMIT
from tester.generator.config import EPISODES
from tester.generator.generator import GeneratorConfig, generate_program
from tester.generator.native_loops import CompiledLoops
from tester.profiles import limited_resources, machine_roles, profiles, variants
from tester.program.program import AgentSpec, Program
from tester.program.replay_file import Leg

LEAST_EPISODES: Final = 30
MOST_EPISODES: Final = 500
"""A leg draws its length between these, unless the options say otherwise."""
_EARLY_LEGS: Final = 32
_EARLY_EPISODES: Final = 90
"""Breadth first: the early legs draw at most this many. Later ones may grow by `_GROWTH` a leg."""
_GROWTH: Final = 20
LEG_ACCESSES: Final = 60_000
"""Wide waves and long episodes make legs of fewer episodes: about this many lane accesses."""
_ROUNDS: Final = 3
"""But at least this many episodes per agent."""
MAX_LEG_ACCESSES: Final = 1 << 24
"""More lane accesses than this are refused: see `_check_size`."""
_PATIENCE: Final = 6
"""Times the usual limit until a hang is declared, where resources are scarce."""


@dataclass(frozen=True)
class PlannedLeg:
    """A leg before its first tick."""

    leg: Leg
    summarise: Callable[[], LegSummary]

    @cached_property
    def summary(self) -> LegSummary:
        """The leg described for users, which takes a while to write."""
        return self.summarise()


@dataclass(frozen=True, slots=True)
class Draft:
    """A leg before its program is generated: `plan` does that, and ``leg`` puts them together."""

    config: GeneratorConfig
    prng: Prng
    leg: Callable[[Program], Leg]
    summarise: Callable[[], LegSummary]

    @property
    def accesses(self) -> int:
        """About how many lane accesses it has, or more."""
        lanes = max(agent.lanes for agent in self.config.agents)
        return (self.config.episodes or 0) * max(self.config.lengths) * lanes

    def plan(self, loops: CompiledLoops | None) -> PlannedLeg:
        """Raises ConfigError."""
        return PlannedLeg(self.leg(generate_program(self.config, self.prng, loops)), self.summarise)


class Legs:
    """Draws the legs of a run."""

    def __init__(self, protocol: LoadedProtocol, options: Options) -> None:
        self._protocol = protocol
        self._options = options
        self._systems = Systems(protocol, options)
        self._prng = Prng(options.seed)
        self._deck = self._prng.fork("deck")

    def turn(self, number: int) -> Turn:
        """What leg ``number`` runs unless it is dealt otherwise."""
        return profile_schedule.turn_of_leg(
            self._options.profile,
            self._deck,
            number,
            machine_roles.has_gpu(self._protocol.description),
            machine_roles.has_bus(self._protocol.description),
            machine_roles.has_prefetcher(self._protocol.accepted),
        )

    def draft(self, number: int, turn: Turn, done: int) -> Draft:
        """Leg ``number`` but for its program; ``done``: episodes before it.

        Raises ConfigError, DescriptionError.
        """
        options = self._options
        prng = self._prng.fork(f"leg {number}")
        fixed = {**turn.pinned, **options.fixed}
        # "scenario" names the stream of numbers: another name would move every run.
        drawn = profiles.draw(turn.profile, prng.fork("scenario"), fixed)
        varied = [
            variant
            for variant in variants.draw(self._protocol.written, prng)
            if variant.called not in options.without_variants
        ]
        description = self._systems.draw(drawn.shape, varied, prng.fork("avoided"))
        agents, groups, rules = agents_and_rules(description)
        able = machine_roles.abilities(self._protocol.accepted, description)
        episodes = self._leg_episodes(number, prng, drawn.program, agents, turn.longest)
        config = drawn.config(
            agents,
            min(options.episodes - done, episodes),
            description.line_size,
            rules.isolation_groups,
            abilities=tuple(able[group] for group in groups),
            **_left_out(description),
        )
        _check_size(config)

        def leg(program: Program) -> Leg:
            return Leg(
                program,
                description,
                self._protocol.identity,
                self._deadlock_limit(drawn.shape),
                options.seed,
                number,
                drawn.profile,
                options.version,
                done,
                self._protocol.texts,
            )

        usual = self._protocol.description

        def summarise() -> LegSummary:
            return leg_summary(
                drawn.profile,
                description,
                config,
                drawn.crowding,
                limited_resources.limits_in(description, usual),
                lambda: in_force(varied, self._protocol.info, usual, description),
            )

        return Draft(config, prng.fork("program"), leg, summarise)

    def _deadlock_limit(self, shape: profiles.Shape) -> int:
        """What the user says; else longer where resources are scarce: ports of low priority are
        passed over there."""
        patient = shape.limited and self._options.deadlock_limit == DEADLOCK_LIMIT
        return DEADLOCK_LIMIT * _PATIENCE if patient else self._options.deadlock_limit

    def _leg_episodes(
        self,
        number: int,
        prng: Prng,
        config: GeneratorConfig,
        agents: Sequence[AgentSpec],
        longest: int | None,
    ) -> int:
        """``config``: but for its agents."""
        if self._options.leg_episodes is not None:
            return self._options.leg_episodes
        if config.pattern != EPISODES:
            return LEG_ACCESSES // max(config.lengths)
        most = _EARLY_EPISODES + _GROWTH * max(0, number + 1 - _EARLY_LEGS)
        spread = min(most, longest or MOST_EPISODES) - LEAST_EPISODES
        drawn = LEAST_EPISODES + prng.fork("episodes").below(spread + 1)
        lanes = sum(agent.lanes for agent in agents) / len(agents)
        width = lanes * (2 + sum(config.lengths) / len(config.lengths))
        return max(_ROUNDS * len(agents), min(drawn, int(LEG_ACCESSES / width)))


def _left_out(description: SystemDescription) -> dict[str, int]:
    """Fields of a GeneratorConfig that keep out what agents of the system are described without."""
    without = {what for group in description.agents.values() for what in group.without}
    fields: dict[str, int] = {}
    if "scopes" in without:
        fields |= {"scope_percent": 0, "atomic_scope_percent": 0, "peek_bypass_percent": 0}
    if "bare" in without:
        fields |= {"bare_percent": 0, "plain_percent": 0}
    if "atomics" in without:
        fields |= {"bare_percent": 100, "atomic_percent": 0}
    return fields


def _check_size(config: GeneratorConfig) -> None:
    """Refuse a leg that would fit neither into memory nor into a replay file."""
    length, lanes = max(config.lengths), max(agent.lanes for agent in config.agents)
    episodes = config.episodes or 0
    if episodes * length * lanes > MAX_LEG_ACCESSES:
        raise ConfigError(
            f"the leg is too large: {episodes:,} episodes of {length:,} actions on {lanes} lanes, "
            f"{MAX_LEG_ACCESSES:,} lane accesses are possible; "
            "--leg-episodes, --episode-length and --lanes make it smaller"
        )
