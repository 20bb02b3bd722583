"""One text against the default campaign: refused, passed, or how it failed.

``python -m tests.gem5.history.attack DRIVER EPISODES SEED`` prints the answer as JSON. A process of
its own for each, so that no text can stop the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from protocols.loader import ProtocolBroken, ProtocolMissing, load_protocol
from runtime.description import DescriptionError
from tester.campaign.campaign import Campaign, Options
from tester.campaign.engine_choice import Choice
from tester.campaign.engine_selection import choose
from tester.errors import ConfigError
from tester.execution.events import Verdict

LIMIT: Final = 600
"""Seconds for one text and seed."""
_VALUES: Final = (
    Verdict.STALE_READ,
    Verdict.EARLY_WRITE,
    Verdict.TORN_BYTES,
    Verdict.FOREIGN_BYTES,
    Verdict.LOST_WRITE,
    Verdict.WRONG_VALUE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """``refused``: why the text cannot be tested. ``failure``: what went wrong, and where; empty if
    ``episodes`` passed."""

    refused: str = ""
    failure: str = ""
    episodes: int = 0


def attack(driver: Path, episodes: int, seed: int) -> Answer:
    """The default campaign on a text, in this process."""
    try:
        protocol = load_protocol(str(driver), native=True)
        engine = choose(Choice.auto, protocol, lambda text: None)
        campaign = Campaign(protocol, Options(seed, episodes), engine)
        for plan in campaign.plans():
            run, finding = campaign.run_leg(plan.leg)
            if finding is None:
                continue
            error = run.outcome.error
            if finding.verdict in _VALUES:
                failure = "wrong data"
            elif error is not None and error.machine is not None:
                where = [error.machine, error.state or "", error.event or error.action or ""]
                failure = f"{error.kind.value} {'.'.join(filter(None, where))}"
            else:
                failure = finding.verdict.value
            return Answer(failure=failure, episodes=campaign.totals.episodes)
    except (ProtocolBroken, ProtocolMissing, DescriptionError, ConfigError) as error:
        return Answer(refused=_first_error(str(error)))
    return Answer(episodes=campaign.totals.episodes)


def attack_apart(driver: Path, episodes: int, seed: int) -> Answer:
    """The same in a process of its own, with a limit of time."""
    command = [sys.executable, "-m", __name__, str(driver), str(episodes), str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Answer(failure=f"no verdict in {LIMIT} s")
    if done.returncode:
        return Answer(failure=f"error of ours: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error")]
    return (lines or text.splitlines() or ["?"])[0]


if __name__ == "__main__":
    path, episodes, seed = sys.argv[1:]
    print(json.dumps(asdict(attack(Path(path), int(episodes), int(seed)))))
