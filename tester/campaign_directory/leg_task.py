"""What a worker does for a campaign: draw a leg, run it, say what it brought.

Invariant: a record depends on the task, the protocol and the options alone: not on the worker, its
engine, or which legs it ran before. Only ``seconds`` differs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from protocols.loader import LoadedProtocol
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import Campaign, kind_of
from tester.campaign.drawing.options import NO_END, Options
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign.workers import LegResult, OnProgress
from tester.campaign_directory.transition_pairs import NO_PAIRS, PairFinder, Pairs
from tester.engines.selection import Chosen
from tester.native.transition_log import TransitionLog


@dataclass(frozen=True, slots=True)
class LegTask:
    """A leg to run. ``turn`` None: what its number has anyway."""

    number: int
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class LegRecord(LegResult):
    """A leg that was run whole. ``kind``, ``headline``: how it failed; empty: it passed.

    ``pinned``: what its profile was given; ``transitions``: executed in it; ``seconds``: of
    processor time.
    """

    profile: str = ""
    pinned: Mapping[str, object] | None = None
    transitions: int = 0
    pairs: Pairs = NO_PAIRS
    kind: str = ""
    headline: str = ""
    seconds: float = 0.0


class LegRunner:
    """Runs tasks, one after the other."""

    def __init__(self, protocol: LoadedProtocol, options: Options, engine: Chosen) -> None:
        self._protocol = protocol
        self._options = replace(options, episodes=NO_END)
        self._engine = engine
        self._finder = PairFinder(protocol.info)
        self._log = TransitionLog()

    def run(self, task: LegTask, on_progress: OnProgress = lambda *_: None) -> LegRecord:
        """Raises EngineDisagreement, ConfigError."""
        started = time.process_time()
        campaign = Campaign(self._protocol, self._options, self._engine, log=self._log)
        turn = task.turn or campaign.legs.turn(task.number)
        plan = campaign.plan(task.number, turn)
        run, finding = campaign.run_leg(plan.leg)
        self._engine = campaign.engine
        pairs = self._finder.pairs(self._log.transitions, plan.leg.description)
        return LegRecord(
            task.number,
            plan.summary,
            totals=campaign.totals,
            coverage=campaign.coverage,
            profile=turn.profile,
            pinned=turn.pinned,
            transitions=campaign.transitions,
            pairs=pairs,
            kind="" if finding is None else kind_of(run, finding),
            headline="" if finding is None else finding.headline,
            seconds=time.process_time() - started,
        )
