"""The verdicts of compute units and of the tester's agents on the same episodes.

A verdict depends on the ticks of all accesses, and a unit's accesses come later than an agent's,
which takes no time between them. So where the agents fail, units run the leg at several paces,
until they fail alike.

Invariant: a leg that agents pass is run by units once.
"""

from __future__ import annotations

from typing import Final

from gpu.cli.leg.leg_run import GpuLeg, LegRun, Outcome
from gpu.memory.coherent.factory import EngineChoice, LoadedSystem, choose_engine
from gpu.memory.coherent.system_selection import kernel_system
from protocols.loader import LoadedProtocol
from runtime.system.builder import build_system
from slicc.text.lazy_dataclass import dataclass
from tester.execution import leg as agents
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Finding

PACES: Final = (1, 5, 20, 100, 400)
"""Cycles from a memory instruction's issue to its requests, of one run each."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``agents``: what the tester's agents find; ``units``: the run that fails alike, or else the
    first that fails, or else the first; ``pace``: that of this run."""

    agents: Finding | None
    units: Outcome
    pace: int
    runs: int
    engine: str
    """What ran the caches, as text."""

    @property
    def same(self) -> bool:
        return _alike(self.agents, self.units.finding)


def compare(leg: GpuLeg, protocol: LoadedProtocol, choice: EngineChoice) -> Comparison:
    """Run a leg by agents, on the Python engine, and by units. Raises CannotRun, DescriptionError,
    EngineMissing."""
    found = by_agents(leg, protocol)
    system = LoadedSystem(protocol, kernel_system(protocol.info, leg.description, cus=leg.units))
    outcomes: list[Outcome] = []
    for pace in PACES:
        engine = choose_engine(system, choice, leg.program.run_key)
        outcomes.append(LegRun(leg, engine.memory, pace).run())
        if found is None or _alike(found, outcomes[-1].finding):
            place = len(outcomes) - 1
            break
    else:
        failed = (n for n, outcome in enumerate(outcomes) if outcome.finding is not None)
        place = next(failed, 0)
    return Comparison(found, outcomes[place], PACES[place], len(outcomes), engine.words)


def by_agents(leg: GpuLeg, protocol: LoadedProtocol) -> Finding | None:
    """What the tester's agents find on the leg's own system."""
    system = build_system(protocol.info, leg.description, leg.program.run_key)
    run = agents.LegRun(leg.program, system, leg.deadlock_limit, leg.rules)
    return run.run().finding


def _alike(one: Finding | None, other: Finding | None) -> bool:
    """Whether the verdicts are of one kind: a unit sees a wrong value as such, and agents also say
    whose it was."""
    return _kind(one) == _kind(other)


def _kind(finding: Finding | None) -> object:
    verdict = None if finding is None else finding.verdict
    for kinds in (VALUE_VERDICTS, ATOMIC_VERDICTS):
        if verdict in kinds:
            return kinds
    return verdict
