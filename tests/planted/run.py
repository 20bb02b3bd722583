"""Runs the default campaign on a protocol, with or without a bug, and says what it found when.

Nothing is favoured: the campaign draws profiles, systems and programs as the command without any
option does. Invariant: a result depends on the protocol's text, the seed and the limit alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from protocols.loader import LoadedProtocol, load_protocol
from runtime.native.toolchain.compiler import NoCompiler, find_compiler
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import PYTHON, Chosen, choose
from tester.execution.events import Verdict
from tests.planted.bug import Bug
from tests.planted.bugs import BUGS

EPISODES: Final = 2000
SEEDS: Final = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Detection:
    """The end of one campaign. ``verdict`` None: everything passed."""

    seed: int
    episodes: int
    """Complete when the fault was seen, over all legs."""
    verdict: Verdict | None
    headline: str = ""
    tick: int = 0
    leg: int = 0
    profile: str = ""


def load_planted(bug: Bug, directory: Path) -> LoadedProtocol:
    """Plant the bug in an empty directory and compile. Raises Misplanted, ProtocolBroken."""
    return load_protocol(str(bug.plant(directory)), native=True)


def fast_engine(protocol: LoadedProtocol) -> Chosen:
    """The native engine; where there is no compiler, the Python one. Raises ConfigError."""
    try:
        find_compiler()
    except NoCompiler:
        return PYTHON
    return choose(Choice.native, protocol, lambda words: None, optimised=True)


def hunt(
    protocol: LoadedProtocol, seed: int, episodes: int = EPISODES, engine: Chosen = PYTHON
) -> Detection:
    """The default campaign, until it fails or has completed so many episodes.

    Raises EngineDisagreement: what the native engine finds, the Python engine confirms.
    """
    campaign = Campaign(protocol, Options(seed, episodes), engine)
    for plan in campaign.plans():
        leg = plan.leg
        _, finding = campaign.run_leg(leg)
        if finding is not None:
            return Detection(
                seed,
                campaign.totals.episodes,
                finding.verdict,
                finding.headline,
                finding.tick,
                leg.number,
                leg.profile,
            )
    return Detection(seed, campaign.totals.episodes, None)


def main(wanted: Iterable[str]) -> None:
    """A table: bug, class, seeds that found it, median episodes, verdicts."""
    wanted = set(wanted)
    for bug in BUGS:
        if wanted and bug.name not in wanted:
            continue
        started = time.process_time()
        with tempfile.TemporaryDirectory() as name:
            protocol = load_planted(bug, Path(name))
            found = [hunt(protocol, seed) for seed in SEEDS]
        hits = [d for d in found if d.verdict is not None]
        odd = {d.verdict.value for d in hits if d.verdict and d.verdict not in bug.verdicts}
        verdicts = ", ".join(sorted({d.verdict.value for d in hits if d.verdict}))
        middle = f"{median(d.episodes for d in hits):.0f}" if hits else "-"
        most = max((d.episodes for d in hits), default=0)
        print(
            f"| {bug.name} | {bug.kind.value} | {len(hits)} of {len(found)} | {middle} | {most} |"
            f" {verdicts}{' ODD: ' + ', '.join(sorted(odd)) if odd else ''} |"
            f" {time.process_time() - started:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", help="names; all when none is given")
    main(parser.parse_args().bugs)
