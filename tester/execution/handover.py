"""The rules by which agents hand data over.

Invariant: nothing here touches a byte in a way that the system description does not allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runtime.description import SystemDescription
from runtime.description.inference import COALESCERS
from runtime.prng import initial_byte
from runtime.system.system import agent_places
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.execution.agent import HandoverSteps
from tester.execution.early_loads import EarlyLoads, EarlyRule, Versions, versions_of
from tester.identity_cache import once_for_the_same
from tester.program.program import DMA, FETCH, RACING_LOAD, AgentSpec, Program
from tester.program.replay_file import Leg


@dataclass(frozen=True, slots=True)
class HandoverRules:
    """How agents of a system may hand data to each other, one entry per agent.

    Agents of different ``isolation_groups`` never exchange a byte; ``steps`` are what an agent does
    at a hand-over besides acquire and release. Empty: one isolation group, no further steps.
    """

    isolation_groups: tuple[int, ...] = ()
    steps: tuple[HandoverSteps, ...] = ()
    reads_back: tuple[bool, ...] = ()
    """Which agents load lines again at the end; empty: all of them."""
    copies_stay: bool = False
    """Copies stay readable for a while, as with leases: only a hand-over by fetch-adds tells that a
    load returns the newest value, and nothing is read back at the end."""

    @staticmethod
    def of(description: SystemDescription, groups: Sequence[str]) -> HandoverRules:
        """``groups[t]`` is the name of the agent group of agent t.

        A group joins the first isolation group with whose every member hand-overs are allowed both
        ways.
        """
        forbidden = {(h.giver, h.taker) for h in description.handovers if not h.allowed}
        isolation_of: dict[str, int] = {}
        for name in dict.fromkeys(groups):
            isolation = 0
            while any(
                number == isolation and {(name, other), (other, name)} & forbidden
                for other, number in isolation_of.items()
            ):
                isolation += 1
            isolation_of[name] = isolation
        present = set(isolation_of)
        rows = [h for h in description.handovers if h.allowed and {h.giver, h.taker} <= present]
        flush = {h.giver for h in rows if "flush" in h.giver_steps}
        invalidate = {h.taker for h in rows if "invalidate_l2" in h.taker_steps}
        steps = {
            name: HandoverSteps(
                name in flush,
                name in invalidate,
                not description.values,
                early_rule(description, name),
            )
            for name in isolation_of
        }
        return HandoverRules(
            tuple(isolation_of[name] for name in groups),
            tuple(steps[name] for name in groups),
            tuple(name not in description.agents or loads(description, name) for name in groups),
            copies_stay(description),
        )

    @property
    def blind(self) -> bool:
        """Whether values are not checked."""
        return any(steps.blind for steps in self.steps)


def loads(description: SystemDescription, name: str) -> bool:
    """Whether a group of agents loads: engines may do without."""
    return "loads" not in description.agents[name].without


def copies_stay(description: SystemDescription) -> bool:
    """Whether completion alone hands nothing over, because old copies stay readable for a while."""
    return any("bare" in each.without for each in description.agents.values())


def early_rule(description: SystemDescription, name: str) -> EarlyRule:
    """Which racing loads of a group of agents are judged."""
    group = description.agents.get(name)
    if group is None:  # not of this description
        return EarlyRule.NEVER
    requester = description.requesters[group.requester]
    if copies_stay(description):
        return EarlyRule.NEVER
    if requester.class_name in COALESCERS:
        return EarlyRule.BYPASSING
    walks = requester.walk or requester.invalidates is not None
    if walks or requester.fetch or requester.needs_fences:
        return EarlyRule.NEVER
    return EarlyRule.HELD if requester.ahead else EarlyRule.ALWAYS


NO_HANDOVER_RULES: Final = HandoverRules()


def handover_rules_of(leg: Leg) -> HandoverRules:
    """The hand-over rules of a leg's agents. Raises ConfigError if they are not its system's."""
    agents, _, rules = agents_and_rules(leg.description)
    if agents != leg.program.agents:
        raise ConfigError("the program was made for other agents than its system has")
    return rules


@once_for_the_same(16)
def agents_and_rules(
    description: SystemDescription,
) -> tuple[tuple[AgentSpec, ...], list[str], HandoverRules]:
    """The agents of a leg's system, the group of each and the rules for them. Raises ConfigError as
    `agents_of` does."""
    agents, groups = agents_of(description)
    return agents, groups, HandoverRules.of(description, groups)


def agents_of(description: SystemDescription) -> tuple[tuple[AgentSpec, ...], list[str]]:
    """The agents that run episodes, and the agent group of each. Those that neither load nor store
    run none.

    Raises ConfigError when no agent can make fetch-adds: then nothing could be handed over.
    """
    places = agent_places(description)
    readers = {name for name in description.agents if not _stores(description, name)}
    if not any(place.kind != DMA and place.group not in readers for place in places):
        file, line = description.origin.place(("agents",))
        place = f"{file}:{line}: " if line else ""
        served = sorted({requester.machine for requester in description.requesters.values()})
        empty = [name for name in served if not description.machines[name].count]
        why = "".join(f"; machine.{name}.count is 0" for name in empty)
        raise ConfigError(f"{place}the system has no agent that can make fetch-adds{why}")
    idle = {name for name in readers if not loads(description, name)}
    places = [place for place in places if place.group not in idle]
    agents = tuple(
        AgentSpec(FETCH if p.group in readers else p.kind, p.requester, p.lanes, p.name)
        for p in places
    )
    return agents, [place.group for place in places]


def _stores(description: SystemDescription, name: str) -> bool:
    """Whether a group of agents stores."""
    group = description.agents[name]
    requester = description.requesters[group.requester]
    # A coalescer takes no whole line of one lane.
    never_whole = "partial" in group.without and requester.class_name in COALESCERS
    return not (requester.fetch or "stores" in group.without or never_whole)


def judged_versions(program: Program, rules: HandoverRules) -> Versions | None:
    """What racing loads of a program may see, if any is judged."""
    return versions_of(program) if judges_racing_loads(program, rules) else None


def judges_racing_loads(program: Program, rules: HandoverRules) -> bool:
    """Whether any racing load of a program is judged."""
    racing = set(program.episode_thread[program.episode_scope & RACING_LOAD > 0].tolist())
    return any(each.judged for agent, each in enumerate(rules.steps) if agent in racing)


def early_loads_of(program: Program, rules: HandoverRules) -> EarlyLoads | None:
    """The judge of a program's racing loads, if any is judged."""
    versions = judged_versions(program, rules)
    if versions is None:
        return None
    return EarlyLoads(
        versions,
        [each.judged for each in rules.steps],
        [each.flush for each in rules.steps],
        [agent.requester for agent in program.agents],
        lambda address: initial_byte(program.run_key, address),
    )
